/** The folder of the releases, and the link to the present one. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isNotFound } from "../base/errors.ts";
import { syncFolder } from "../os/careful-files.ts";
import { namesIfSeen } from "../os/files.ts";

/** Its time in UTC; then for what was made from a ref the beginning of its commit, and a number if the same second has several. */
const ID = /^\d{8}-\d{6}(?:-[0-9a-f]{7,12})?(?:-\d{1,3})?$/;

export function isReleaseId(name: string): boolean {
  return ID.test(name);
}

/** An id that no release has. */
export function newReleaseId(folder: string, now: Date, commit = ""): string {
  const [day = "", time = ""] = now.toISOString().split("T");
  const id = `${day.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}${commit === "" ? "" : `-${commit.slice(0, 7)}`}`;
  const taken = new Set(namesIfSeen(folder));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? id : `${id}-${number}`;
    if (!taken.has(name)) return name;
  }
}

/** Newest first. */
export function releaseIds(folder: string): readonly string[] {
  return namesIfSeen(folder).filter(isReleaseId).sort().reverse();
}

/** Where the link leads, as it is written; undefined: there is none. @throws Error if something else has its place */
export function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (!lstatSync(link).isSymbolicLink()) throw new Error(`${link} is not a link; move it away`);
    throw error;
  }
}

/** The release that the link leads to; undefined: none. */
export function currentRelease(folder: string, link: string): string | undefined {
  const target = linkTarget(link);
  const place = target === undefined ? "" : resolve(dirname(link), target);
  return dirname(place) === folder && isReleaseId(basename(place)) ? basename(place) : undefined;
}

export function targetFor(link: string, release: string): string {
  return relative(dirname(link), release);
}

/** In one step: whoever follows the link gets the old target or the new one. `target` undefined: there is no link any more. */
export function switchLink(link: string, target: string | undefined): void {
  if (target === undefined) rmSync(link, { force: true });
  else {
    const draft = join(dirname(link), `.${basename(link)}.procman-new`);
    rmSync(draft, { force: true });
    symlinkSync(target, draft);
    renameSync(draft, link);
  }
  syncFolder(dirname(link));
}

/** Pids of processes whose folder lies in each of these, which exist; by `/proc`, without it none. */
export function pidsIn(releases: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const found = releases.map((release) => ({ release, real: realpathSync(release), pids: [] as number[] }));
  if (releases.length > 0 && process.platform === "linux")
    for (const name of readdirSync("/proc")) {
      const cwd = /^\d+$/.test(name) ? folderOf(name) : "";
      for (const { real, pids } of found) if (cwd === real || cwd.startsWith(`${real}/`)) pids.push(Number(name));
    }
  return new Map(found.map(({ release, pids }) => [release, pids]));
}

/** Empty: it has ended, or belongs to another user. */
function folderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

/**
 * One keeper per state folder. A lock is a file `lock.N` that names its holder; the highest N counts. `link` creates it
 * atomically and complete, so that of two processes which find the same dead holder only one becomes the next.
 */

import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { compact } from "../base/compact.ts";
import { isNotFound } from "../base/errors.ts";
import { readWhole, writeBeside } from "./careful-files.ts";
import { identityOf, isSameFile } from "./file-identity.ts";
import { removeIfAllowed } from "./files.ts";
import { bootId, isAlive, processStat } from "./process-stat.ts";

type LockClaim = {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  /** The configuration file of the holder. */
  readonly file?: string;
  /** Session of the keeper that a user started, and of all its replacements; 1.0.0 doesn't name it. */
  readonly lineage?: string;
  /** Where the lock was made; 1.0.0 doesn't tell. */
  readonly folder?: FolderRecord;
};

/** The folder that a record was made in: its path then, and which one it was. */
export type FolderRecord = { readonly path: string; readonly identity: string };

/** Longest lock of another user that is read. */
const MAX_BYTES = 64 * 1024;

/** `number`: 1, or one more than that of the dead holder that it replaced. */
export type Holder = LockClaim & { readonly number: number };

export type Lock = {
  /** False once the lock file was removed. */
  readonly holds: () => boolean;
  readonly release: () => void;
};

export type LockOptions = {
  /** The configuration file, for the claim; default: that of the dead holder. */
  readonly file?: string | undefined;
  readonly lineage?: string | undefined;
  /** A lock of this process counts as left by an earlier holder: the folder was replaced by a copy, or lies behind a link that was switched back. */
  readonly isAgain?: boolean;
};

/** Takes the lock, or returns its holder. */
export function takeLock(stateDir: string, { file, lineage, isAgain = false }: LockOptions = {}): Lock | Holder {
  for (;;) {
    const last = numbers(stateDir).at(-1) ?? 0;
    const holder = holderOf(stateDir);
    if (holder !== undefined && !(isAgain && holder.pid === process.pid)) return holder;
    const ownFile = join(stateDir, `lock.${last + 1}`);
    const own = { file: file ?? lastIn(stateDir)?.file, lineage };
    if (!create(stateDir, ownFile, own)) continue;
    // Another process that was two steps ahead may have removed the file that would have stopped us, or, after a release,
    // may have begun with 1 again. Of two that check at the same time, one at least sees the other.
    const others = numbers(stateDir).filter((number) => number !== last + 1);
    const isHeld = (number: number): boolean => {
      const claim = livingIn(stateDir, number);
      return claim !== undefined && !(isAgain && claim.pid === process.pid);
    };
    if (others.some((number) => number > last || isHeld(number))) {
      rmSync(ownFile, { force: true });
      continue;
    }
    for (const number of others) rmSync(join(stateDir, `lock.${number}`), { force: true });
    const { ino } = statSync(ownFile);
    return {
      holds: () => statSync(ownFile, { throwIfNoEntry: false })?.ino === ino,
      release: () => removeIfAllowed(ownFile),
    };
  }
}

/** Whether the last lock, of a living holder or not, names another process, or another folder. */
export function isOfOther(stateDir: string, pid: number): boolean {
  const claim = claimIn(stateDir);
  return claim !== undefined && (claim.pid !== pid || originOf(claim, stateDir) !== undefined);
}

/** The living holder of the lock, or undefined. */
export function holderOf(stateDir: string): Holder | undefined {
  const holder = lastIn(stateDir);
  return holder !== undefined && isLiving(holder) ? holder : undefined;
}

/** True if the holder was killed since the last boot; an orderly end releases the lock. */
export function isAbandoned(stateDir: string): boolean {
  return lastIn(stateDir)?.bootId === bootId() && holderOf(stateDir) === undefined;
}

/** Whether there is a lock of this boot, of a living holder or not. */
export function hasLock(stateDir: string): boolean {
  return lastIn(stateDir)?.bootId === bootId();
}

/** The living holder in a folder of another user, for root: read with care, and only to be shown. */
export function seenHolderOf(stateDir: string): Holder | undefined {
  const holder = lastIn(stateDir, (path) => readWhole(path, { maxBytes: MAX_BYTES }).toString("utf8"));
  return holder !== undefined && isLiving(holder) ? holder : undefined;
}

/** Who holds the lock of this number here. */
function livingIn(stateDir: string, number: number): LockClaim | undefined {
  const claim = read(join(stateDir, `lock.${number}`), (path) => readFileSync(path, "utf8"));
  if (claim === undefined) return undefined;
  const holder = { ...claim, number };
  return isLiving(holder) && originOf(holder, stateDir) === undefined ? holder : undefined;
}

function isLiving({ bootId: boot, pid, startTime }: Holder): boolean {
  return boot === bootId() && isAlive(pid, startTime);
}

/**
 * The state folder that the holder of this lock uses now. It is another one if the folder was moved, or if it lies
 * behind a link that leads elsewhere now: then the holder has a new one in the old place.
 */
export function homeOf(stateDir: string): string {
  const { folder, lineage } = lastIn(stateDir) ?? {};
  const isElsewhere = folder !== undefined && lineage !== undefined && lastIn(folder.path)?.lineage === lineage;
  return isElsewhere && !isSameFile(folder.path, stateDir) ? folder.path : stateDir;
}

/**
 * The folder whose records these are, if not those of this one: it was copied, as by `cp -a` or from a backup, or its
 * holder has gone on elsewhere and has ended there. Nothing here may act on what such records name.
 */
export function originOfRecords(stateDir: string): string | undefined {
  const claim = claimIn(stateDir);
  return claim === undefined ? undefined : originOf(claim, stateDir);
}

/** The file that the holder runs, if it is another one. One that is gone may be this one, renamed. */
export function otherFileOf({ file: running = "" }: Holder, file = running): string | undefined {
  return existsSync(running) && !isSameFile(running, file) ? running : undefined;
}

/** Why this file can't be run in the state folder, or isn't the one that runs there. */
export function inUseText(holder: Holder, stateDir: string, file?: string): string {
  const { pid } = holder;
  const other = otherFileOf(holder, file);
  return other === undefined
    ? `procman is already running with this state folder (pid ${pid}, ${stateDir}); "procman logs -f" follows the output, "procman reload" applies a changed configuration file, "procman terminate" stops everything`
    : `${JSON.stringify(basename(stateDir))} is already running with ${other} (pid ${pid}, ${stateDir}), not with ${file}; name that file with --config, give this one another "name" to run both, or end that procman first: "procman terminate --config ${other}"`;
}

/** What a user is told at the start then. */
export function copyNotice(stateDir: string, origin: string): string {
  return `${stateDir} has the records of ${origin}, as a copied folder has them: they are not used, everything starts as new, and that procman is not touched`;
}

export function folderRecord(stateDir: string): FolderRecord {
  return { path: stateDir, identity: identityOf(stateDir) ?? "" };
}

/** Whether the record was made here: a folder may be moved, and another one may be restored in its place, but not both. */
export function isMadeIn({ path, identity }: FolderRecord, stateDir: string): boolean {
  return path === stateDir || identity === identityOf(stateDir);
}

function originOf(claim: Holder, stateDir: string): string | undefined {
  const { folder, file } = claim;
  if (folder === undefined) return originByFile(file, stateDir);
  if (!isMadeIn(folder, stateDir)) return folder.path;
  return existsSync(folder.path) && !isSameFile(folder.path, stateDir) && !isLiving(claim) ? folder.path : undefined;
}

/** By a lock of 1.0.0, whose state folder lies beside the file. It is a copy if that folder has a lock, too. */
function originByFile(file: string | undefined, stateDir: string): string | undefined {
  if (file === undefined || basename(dirname(stateDir)) !== ".procman") return undefined;
  const origin = join(dirname(file), ".procman", basename(stateDir));
  return !isSameFile(origin, stateDir) && numbers(origin).length > 0 ? origin : undefined;
}

/** The last claim, if it is one of this folder. */
function lastIn(stateDir: string, textOf?: (path: string) => string): Holder | undefined {
  const claim = claimIn(stateDir, textOf);
  return claim === undefined || originOf(claim, stateDir) !== undefined ? undefined : claim;
}

function claimIn(stateDir: string, textOf = (path: string): string => readFileSync(path, "utf8")): Holder | undefined {
  for (;;) {
    const last = numbers(stateDir).at(-1);
    if (last === undefined) return undefined;
    const claim = read(join(stateDir, `lock.${last}`), textOf);
    if (claim !== undefined) return { ...claim, number: last };
    // Unless the next holder has replaced it just now.
    if (numbers(stateDir).at(-1) === last) return undefined;
  }
}

function numbers(stateDir: string): readonly number[] {
  return namesIn(stateDir)
    .flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice(5))] : []))
    .sort((a, b) => a - b);
}

/** Empty if there is no such folder. A folder without rights may have a lock. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

function create(stateDir: string, path: string, { file, lineage }: Pick<LockOptions, "file" | "lineage">): boolean {
  const startTime = processStat(process.pid)?.startTime ?? "";
  const more = compact({ file, lineage });
  const claim: LockClaim = { pid: process.pid, startTime, bootId: bootId(), ...more, folder: folderRecord(stateDir) };
  const temporary = writeBeside(join(stateDir, "lock"), JSON.stringify(claim));
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
}

/** An unreadable lock has no holder: its writer died before it was complete, or it was released just now. */
function read(path: string, textOf: (path: string) => string): LockClaim | undefined {
  try {
    return JSON.parse(textOf(path)) as LockClaim;
  } catch {
    return undefined;
  }
}

/** Names of the state folders in `.procman` whose procman is running. */
export function runningIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const folders = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
  return folders.map(({ name }) => name).filter((name) => holderOf(join(folder, name)) !== undefined);
}

/** What a release is made of, checked before anything is written: files, folders, and links that stay inside. */
import { posix } from "node:path";

/** `path`: relative, without `.` and `..`. `other`: what a release can't have, such as `a device`. */
export type Entry = {
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | { readonly other: string };
  /** A link: where it leads, as it is written; of another name of a file (`isHard`): the path in the release. */
  readonly target?: string;
  readonly isHard?: true;
  readonly bytes: number;
  /** A folder keeps it. */
  readonly mode?: number;
};

/** Most entries; more are a mistake, such as `/`. */
const MAX_ENTRIES = 2_000_000;

/** What stands in a decoded name for bytes that aren't UTF-8. */
export const UNKNOWN_CHARACTER = "\ufffd";
export const BAD_NAME = "has a name that isn't UTF-8; rename it, or leave it out";

/** Returns how many bytes the files have together. @throws Error that names the entry */
export function checkContents(entries: readonly Entry[]): number {
  if (!entries.some(({ kind }) => kind === "file")) throw new Error("there is no file in it");
  if (entries.length > MAX_ENTRIES) throw new Error(`it has ${entries.length} entries, more than ${MAX_ENTRIES}`);
  const kinds = new Map(entries.map(({ path, kind }) => [path, kind]));
  for (const entry of entries) {
    const problem = problemOf(entry) ?? placeProblem(entry, kinds);
    if (problem !== undefined) throw new Error(`${JSON.stringify(entry.path)} ${problem}`);
  }
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

function problemOf({ path, kind, target = "", isHard }: Entry): string | undefined {
  if (path.includes(UNKNOWN_CHARACTER)) return BAD_NAME;
  if (posix.isAbsolute(path)) return "is an absolute path; allowed: paths in the release";
  if (path.split("/").includes("..")) return 'has ".." in its path; allowed: paths in the release';
  if (typeof kind === "object") return `is ${kind.other}; allowed: files, folders and links`;
  if (kind !== "link" && isHard !== true) return undefined;
  const place = isHard === true ? target : posix.join(posix.dirname(path), target);
  return posix.isAbsolute(target) || leadsOut(place)
    ? `is a link to ${JSON.stringify(target)}, which leads out of the release; allowed: links inside`
    : undefined;
}

/** What another entry of an archive makes impossible. */
function placeProblem(
  { path, target = "", isHard }: Entry,
  kinds: ReadonlyMap<string, Entry["kind"]>,
): string | undefined {
  const linked = isHard === true ? kinds.get(posix.normalize(target)) : "file";
  if (linked === undefined || linked === "folder")
    return `is a link to ${JSON.stringify(target)}, which isn't a file of the archive`;
  for (let folder = posix.dirname(path); folder !== "."; folder = posix.dirname(folder)) {
    const kind = kinds.get(folder);
    if (kind !== undefined && kind !== "folder") return `lies in ${JSON.stringify(folder)}, which isn't a folder`;
  }
  return undefined;
}

/** A relative path. */
function leadsOut(path: string): boolean {
  const normal = posix.normalize(path);
  return normal === ".." || normal.startsWith("../");
}

/** Who can change what a path leads to: what only trusted users can change may be run with the rights of this user. */
import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MAX_LINKS, OTHERS_WRITE, partsOf, STICKY } from "./path-walk.ts";
import { userInText } from "./user-names.ts";

const GROUP_WRITES = 0o020;

export type Trust = {
  readonly uids: readonly number[];
  /** Their members may write. */
  readonly gids?: readonly number[];
  /** Folders that are trusted with what can be changed in them. */
  readonly folders?: ReadonlySet<string>;
};

const ROOT_ALONE: Trust = { uids: [0] };

/**
 * The part of the path that a user without trust can change, and who; undefined: none. Links are followed one by one,
 * and all folders above each of them count.
 *
 * @throws errors of the file system
 */
export function changeableByOthers(path: string, trust: Trust = ROOT_ALONE): string | undefined {
  const parts = ["", ...partsOf(path)].reverse();
  let folder = "/";
  for (let links = 0, part = parts.pop(); part !== undefined; part = parts.pop()) {
    const entry = join(folder, part);
    const stat = lstatSync(join(folder, part));
    const problem = problemOf(entry, stat, trust) ?? (stat.isDirectory() ? undefined : problemInSticky(folder));
    if (problem !== undefined) return problem;
    if (stat.isSymbolicLink()) {
      if (++links > MAX_LINKS)
        throw Object.assign(new Error(`ELOOP: the links of ${path} form a loop`), { code: "ELOOP" });
      const target = readlinkSync(entry);
      parts.push(...partsOf(target).reverse());
      if (target.startsWith("/")) folder = "/";
    } else folder = entry;
  }
  return undefined;
}

/** The folder, also with its links resolved, and all folders above both. */
export function foldersTo(folder: string): ReadonlySet<string> {
  return new Set([...partsTo(resolve(folder)), ...partsTo(realpathSync(folder))]);
}

function partsTo(path: string): readonly string[] {
  return path === "/" ? ["/"] : [...partsTo(dirname(path)), path];
}

/** In a sticky folder, others can't replace what isn't theirs. */
function problemOf(path: string, stat: Stats, { uids, gids = [], folders }: Trust): string | undefined {
  if (folders?.has(path)) return undefined;
  if (!uids.includes(stat.uid)) return `${path} belongs to ${userInText(stat.uid)}`;
  const others = gids.includes(stat.gid) ? OTHERS_WRITE & ~GROUP_WRITES : OTHERS_WRITE;
  const isOpen =
    !stat.isSymbolicLink() && (stat.mode & others) !== 0 && !(stat.isDirectory() && (stat.mode & STICKY) !== 0);
  return isOpen ? `other users may write in ${path}` : undefined;
}

/** Others can move a file or a link of a trusted user into it, from a folder of theirs; a folder they can't move. */
function problemInSticky(folder: string): string | undefined {
  const { mode } = lstatSync(folder);
  return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) !== 0 ? `other users may write in ${folder}` : undefined;
}

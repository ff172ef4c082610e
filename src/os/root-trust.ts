/** Whether only root can change what a path leads to: then root may run it. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { userName } from "./user-names.ts";

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** The part of the path that another user can change, and who; undefined: none. @throws errors of the file system */
export function changeableByOthers(path: string): string | undefined {
  for (const each of [...partsTo(path), ...partsTo(realpathSync(path))]) {
    const stat = lstatSync(each);
    if (stat.uid !== 0) return `${each} belongs to ${userName(stat.uid)}`;
    if (!stat.isSymbolicLink() && isOpen(stat)) return `other users may write in ${each}`;
  }
  return undefined;
}

/** In a sticky folder, others can't replace what isn't theirs. */
function isOpen(stat: Stats): boolean {
  return (stat.mode & OTHERS_WRITE) !== 0 && !(stat.isDirectory() && (stat.mode & STICKY) !== 0);
}

function partsTo(path: string): readonly string[] {
  return path === "/" ? ["/"] : [...partsTo(dirname(path)), path];
}

/** Tells without reading a file whether it is another one, was changed or replaced. */
import { statIfSeen } from "./files.ts";

/** Differs after every change of the file; empty if it doesn't exist, may not be looked at, or was changed less than `freshMs` ago. */
export function stampOf(file: string, freshMs = 0): string {
  const found = file === "" ? undefined : statIfSeen(file);
  if (found === undefined || (freshMs > 0 && Date.now() - found.mtimeMs < freshMs)) return "";
  return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}

/** The same for every path and link that leads to the file or folder, also after a move; undefined: there is none. */
export function identityOf(path: string): string | undefined {
  const found = statIfSeen(path);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

export function isSameFile(one: string, other: string): boolean {
  const identity = one === other ? undefined : identityOf(one);
  return one === other || (identity !== undefined && identity === identityOf(other));
}

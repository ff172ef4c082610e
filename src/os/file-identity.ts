/** Tells without reading a file whether it was changed or replaced. */
import { statIfSeen } from "./files.ts";

/** Differs after every change of the file; empty if it doesn't exist, may not be looked at, or was changed less than `freshMs` ago. */
export function stampOf(file: string, freshMs = 0): string {
  const found = file === "" ? undefined : statIfSeen(file);
  if (found === undefined || (freshMs > 0 && Date.now() - found.mtimeMs < freshMs)) return "";
  return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}

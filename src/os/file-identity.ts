/** Tells without reading a file whether it was changed or replaced. */
import { statSync } from "node:fs";

/** Differs after every change of the file; empty if the file doesn't exist or was changed less than `freshMs` ago. */
export function stampOf(file: string, freshMs = 0): string {
  const found = file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
  if (found === undefined || (freshMs > 0 && Date.now() - found.mtimeMs < freshMs)) return "";
  return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}

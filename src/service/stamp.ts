/** Tells whether a file is another one than when it was last looked at, without reading it. */
import { statSync } from "node:fs";

/** Another one whenever the file is; empty: there is none, or it is younger than `freshMs`. */
export function stampOf(file: string, freshMs = 0): string {
  const found = file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
  if (found === undefined || (freshMs > 0 && Date.now() - found.mtimeMs < freshMs)) return "";
  return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}

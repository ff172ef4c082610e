/** Files that others read at any moment. */
import { renameSync, writeFileSync } from "node:fs";

/** At once and whole. */
export function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.draft`, text);
  renameSync(`${path}.draft`, path);
}

/** Makes folders. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** A folder with all above it. (`mkdir` with `recursive` never returns for a path like /proc/none/x: nodejs/node, seen on 20.20.) */
export function makeFolder(path: string, mode: number): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Somebody else was quicker.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Paths of files that are open already. Their folder may have lost its rights meanwhile. */
import { fstatSync, openSync, statSync } from "node:fs";
import { errnoOf } from "../base/errors.ts";

/** Whether the path leads to the file of this descriptor. A folder without rights doesn't say that the file was removed: true. */
export function leadsTo(path: string, fd: number): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
  } catch (error) {
    return errnoOf(error) === "EACCES";
  }
}

/** Opens a file by its path, or by `fallback` if the folder of the path has no rights. */
export function openWithFallback(path: string, fallback: string | undefined, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (errnoOf(error) !== "EACCES" || fallback === undefined) throw error;
    return openSync(fallback, flags);
  }
}

/** Fills a disk to the last byte. */
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../../src/core/base/errors.ts";

/** The returned function makes room again. */
export function fill(disk: string): () => void {
  const filler = join(disk, "filler");
  const file = openSync(filler, "w");
  // Others write there at the same time, so the free space is found by trying.
  for (const size of [65_536, 4_096, 1]) for (let isFull = false; !isFull; ) isFull = !fits(file, size);
  closeSync(file);
  return () => rmSync(filler);
}

function fits(file: number, bytes: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(bytes)) > 0;
  } catch (error) {
    if (errnoOf(error) !== "ENOSPC") throw error;
    return false;
  }
}

/** The stamp of a file: a number made from its time, size and inode, which differs when the file has changed. */
import { type Stats, statSync } from "node:fs";

/** The stamp of a file that was not read yet. */
export const UNKNOWN = 0;

/** Within this time a file can change again without getting another time. */
const TIME_RESOLUTION_MS = 10;

export type FileStamp = { readonly stamp: number; readonly changedAt: number; readonly isFresh: boolean };

/** Stamp of a file, or of the target of a link; undefined if there is none. */
export function stampAt(file: string): FileStamp | undefined {
  const stats = statsOf(file);
  if (stats === undefined || stats.isDirectory()) return undefined;
  const { mtimeMs, ctimeMs, size, ino } = stats;
  const changedAt = Math.max(mtimeMs, ctimeMs);
  return { stamp: hashOf(mtimeMs, size, ino), changedAt, isFresh: Date.now() - mtimeMs < TIME_RESOLUTION_MS };
}

/** undefined if the path doesn't exist or may not be read. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** 32-bit hash of a text (FNV-1a), the same in each process. */
export function textHash(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

const numbers = new Float64Array(3);
const words = new Uint32Array(numbers.buffer);

/** Never `UNKNOWN`. */
function hashOf(time: number, size: number, ino: number): number {
  numbers[0] = time;
  numbers[1] = size;
  numbers[2] = ino;
  let hash = 0x811c9dc5;
  for (let index = 0; index < words.length; index++)
    hash = Math.imul(hash ^ (words[index] ?? 0) ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0 || 1;
}

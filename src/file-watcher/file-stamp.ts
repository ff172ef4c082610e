/** A number that is another one when a file is another one: from its time, size and inode. */
import { type Stats, statSync } from "node:fs";

/** Not looked at yet. */
export const UNKNOWN = 0;

/** Within so many milliseconds a file can change again without another time. */
const TICK_MS = 10;

export type FileStamp = { readonly stamp: number; readonly changedAt: number; readonly isFresh: boolean };

/** Of a file, or what a link leads to; undefined: there is none. */
export function seenAt(file: string): FileStamp | undefined {
  const stats = statsOf(file);
  if (stats === undefined || stats.isDirectory()) return undefined;
  const { mtimeMs, ctimeMs, size, ino } = stats;
  const changedAt = Math.max(mtimeMs, ctimeMs);
  return { stamp: mixed(mtimeMs, size, ino), changedAt, isFresh: Date.now() - mtimeMs < TICK_MS };
}

/** What may not be looked at is not there, as far as we are concerned. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** 32 bits of a text, the same in each process (FNV-1a). */
export function textHash(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

const numbers = new Float64Array(3);
const words = new Uint32Array(numbers.buffer);

/** Never `UNKNOWN`. */
function mixed(time: number, size: number, ino: number): number {
  numbers[0] = time;
  numbers[1] = size;
  numbers[2] = ino;
  let hash = 0x811c9dc5;
  for (let index = 0; index < words.length; index++) hash = Math.imul(hash ^ (words[index] ?? 0) ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0 || 1;
}

/** A file of points: each block has the points of all processes at one time, in records of equal size. */
import type { DownsampledPoint } from "./downsample.ts";

/** Header: magic, count, milliseconds since 1970. Record: key, number of processes, CPU, KiB of memory. */
const BLOCK_BYTES = 16;
const MAGIC = 0x314d4d50;
const KEY_BYTES = 6;
const MAX_PROCESSES = 0xffff;
const MAX_KIB = 0xffffffff;

export function blockOf(at: number, points: ReadonlyMap<string, DownsampledPoint>): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES * (points.size + 1));
  block.writeUInt32LE(MAGIC, 0);
  block.writeUInt32LE(points.size, 4);
  block.writeDoubleLE(at, 8);
  let offset = BLOCK_BYTES;
  for (const [id, { cpuPercent, memoryBytes, processes }] of points) {
    block.writeUIntLE(keyOf(id), offset, KEY_BYTES);
    block.writeUInt16LE(Math.min(MAX_PROCESSES, processes), offset + 6);
    block.writeFloatLE(cpuPercent, offset + 8);
    block.writeUInt32LE(Math.min(MAX_KIB, Math.round(memoryBytes / 1_024)), offset + 12);
    offset += BLOCK_BYTES;
  }
  return block;
}

/** Size of the complete blocks; a killed writer leaves a partial one. */
export function wholeBytes(file: Buffer): number {
  let end = 0;
  for (const { next } of blocks(file)) end = next;
  return end;
}

/** The points of these processes from `from` until before `to`. */
export function pointsIn(
  file: Buffer,
  ids: readonly string[],
  from: number,
  to: number,
): ReadonlyMap<string, DownsampledPoint[]> {
  const keys = new Map(ids.map((id) => [keyOf(id), id]));
  const found = new Map<string, DownsampledPoint[]>(ids.map((id) => [id, []]));
  for (const { at, start, next } of blocks(file)) {
    // Also false for a damaged time, which is not a number.
    if (!(at >= from && at < to)) continue;
    for (let offset = start + BLOCK_BYTES; offset < next; offset += BLOCK_BYTES) {
      const id = keys.get(file.readUIntLE(offset, KEY_BYTES));
      if (id !== undefined) found.get(id)?.push(pointAt(file, offset, at));
    }
  }
  return found;
}

function* blocks(file: Buffer): Generator<{ readonly at: number; readonly start: number; readonly next: number }> {
  for (let start = 0; start + BLOCK_BYTES <= file.length; ) {
    const next = start + BLOCK_BYTES * (file.readUInt32LE(start + 4) + 1);
    if (file.readUInt32LE(start) !== MAGIC || next > file.length) return;
    yield { at: file.readDoubleLE(start + 8), start, next };
    start = next;
  }
}

function pointAt(file: Buffer, offset: number, at: number): DownsampledPoint {
  return {
    at,
    cpuPercent: file.readFloatLE(offset + 8),
    memoryBytes: file.readUInt32LE(offset + 12) * 1_024,
    processes: file.readUInt16LE(offset + 6),
  };
}

const keys = new Map<string, number>();
const MAX_KEYS = 100_000;

/** 48 bits: with a thousand ids, one in half a billion configurations has a collision. */
function keyOf(id: string): number {
  const known = keys.get(id);
  if (known !== undefined) return known;
  const key = process.getBuiltinModule("node:crypto").createHash("sha256").update(id).digest().readUIntLE(0, KEY_BYTES);
  if (keys.size < MAX_KEYS) keys.set(id, key);
  return key;
}

/** Maintenance of the store: closes segments of killed writers, and deletes old ones. */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { StoreSettings } from "../ipc/logger-protocol.ts";
import { writeWhole } from "../os/careful-files.ts";
import { isAlive } from "../os/process-stat.ts";
import { BlockBuilder, writeBlock } from "./block.ts";
import { endOfRecord, isSound, recordAt, writerOf } from "./record.ts";
import {
  close,
  indexFile,
  namesIn,
  ownSizeOf,
  remove,
  removeOutput,
  type SegmentFile,
  segmentFile,
  segmentsIn,
  sizeOf,
} from "./segment-files.ts";

const CHUNK_BYTES = 1024 * 1024;
/** A segment without its first record may have been created just now. Milliseconds. */
const BEGINNING_MS = 10_000;
const HEADER_BYTES = 512;

/** Closes all segments whose writers are gone; `own` is the caller's current segment. */
export function repairAll(folder: string, own: number | undefined): void {
  for (const { number, stage } of segmentsIn(folder)) {
    if (stage !== "open" || number === own) continue;
    if (!isWritten(segmentFile(folder, { number, stage }))) repair(folder, number);
  }
}

function isWritten(path: string): boolean {
  const head = Buffer.alloc(HEADER_BYTES);
  const fd = openSync(path, "r");
  try {
    const writer = writerOf(head.subarray(0, readSync(fd, head, 0, HEADER_BYTES, 0)));
    return writer === undefined
      ? Date.now() - statSync(path).mtimeMs < BEGINNING_MS
      : isAlive(writer.pid, writer.startTime);
  } finally {
    closeSync(fd);
  }
}

/** Truncates the file after its last whole record and rebuilds its index. */
export function repair(folder: string, number: number): void {
  const path = segmentFile(folder, { number, stage: "open" });
  const fd = openSync(path, "r+");
  try {
    const { end, index } = survey(fd);
    if (end === 0) {
      rmSync(path);
      rmSync(indexFile(folder, number), { force: true });
      return;
    }
    if (end < fstatSync(fd).size) ftruncateSync(fd, end);
    writeWhole(indexFile(folder, number), index);
  } finally {
    closeSync(fd);
  }
  close(folder, number);
}

/** Reads the whole file: after a crash of the machine, damage may be anywhere. */
function survey(fd: number): { readonly end: number; readonly index: string } {
  const builder = new BlockBuilder(0);
  const lines: string[] = [];
  const take = (): void => void lines.push(writeBlock(builder.take()));
  let end = 0;
  let size = CHUNK_BYTES;
  for (;;) {
    const chunk = Buffer.allocUnsafeSlow(size);
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, size, end));
    let at = 0;
    for (
      let record = recordAt(bytes, at);
      record !== undefined && isSound(bytes, record);
      record = recordAt(bytes, at)
    ) {
      builder.addFound(bytes, record);
      if (builder.isFull) take();
      at = record.end;
    }
    end += at;
    // Stop if nothing was found although the chunk was large enough for a record.
    const needed = endOfRecord(bytes, 0);
    if (at === 0 && (bytes.length < size || needed === undefined || needed <= size)) break;
    size = at === 0 ? (needed as number) : CHUNK_BYTES;
  }
  if (!builder.isEmpty) take();
  return { end, index: lines.join("") };
}

const HOUR_MS = 3_600_000;
/** An index without a segment is kept for this long, because its segment may be about to be created. Milliseconds. */
const ORPHAN_MS = 600_000;

/** Part of the store, and most bytes, that procman's own entries may have after the segments that they were in are deleted. */
const OWN_SHARE = 8;
const OWN_BYTES = 16 * 1024 * 1024;

/**
 * Deletes segments that are too old, then the oldest ones that exceed the total size; never one that is being written.
 * procman's own entries of the latter stay, up to their share.
 */
export function retire(folder: string, { hours, bytes }: StoreSettings, now: number): void {
  const oldest = now - hours * HOUR_MS;
  const segments = segmentsIn(folder).toReversed();
  const kept = new Set(ownEntriesToKeep(folder, segments, Math.min(bytes / OWN_SHARE, OWN_BYTES)));
  let sum = [...kept].reduce((total, number) => total + ownSizeOf(folder, number), 0);
  for (const segment of segments) {
    const { number, stage } = segment;
    const weight = sizeOf(folder, segment);
    if (stage !== "own") sum += weight.bytes;
    if (stage === "open") continue;
    if (weight.written < oldest || hours === 0) remove(folder, number);
    else if (!kept.has(number) && (stage === "own" || sum > bytes)) remove(folder, number);
    else if (sum > bytes) removeOutput(folder, number);
  }
  removeOrphans(folder, now);
}

/** Deletes the output in all segments that nobody writes; `own` is the caller's current segment. procman's own entries stay. */
export function deleteOutput(folder: string, own: number | undefined): void {
  repairAll(folder, own);
  for (const { number, stage } of segmentsIn(folder)) if (stage !== "open") removeOutput(folder, number);
}

/** The newest segments whose own entries fit into the share. */
function ownEntriesToKeep(folder: string, newestFirst: readonly SegmentFile[], share: number): readonly number[] {
  let sum = 0;
  return newestFirst.flatMap(({ number }) => {
    const bytes = ownSizeOf(folder, number);
    sum += bytes;
    return bytes > 0 && sum <= share ? [number] : [];
  });
}

/** Deletes indexes whose segments were removed by hand. */
function removeOrphans(folder: string, now: number): void {
  const numbers = new Set(segmentsIn(folder).map(({ number }) => number));
  for (const name of namesIn(folder)) {
    const number = Number(/^(\d{1,15})\.index$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(number) || numbers.has(number)) continue;
    const { mtimeMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? { mtimeMs: now };
    if (now - mtimeMs > ORPHAN_MS) remove(folder, number);
  }
}

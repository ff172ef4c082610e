/** Closes segments whose writer was killed: what follows the last whole record is cut off. */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isAlive } from "../os/process-stat.ts";
import { BlockBuilder, writeBlock } from "./block.ts";
import { endOfRecord, isSound, recordAt, writerOf } from "./record.ts";
import { close, indexFile, segmentFile, segmentsIn } from "./shelf.ts";

const CHUNK_BYTES = 1024 * 1024;
/** A segment without its first record may have been made a moment ago. */
const BEGINNING_MS = 10_000;
const HEADER_BYTES = 512;

/** All segments of writers that are gone; `own` is being written by the caller. */
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
    return writer === undefined ? Date.now() - statSync(path).mtimeMs < BEGINNING_MS : isAlive(writer.pid, writer.startTime);
  } finally {
    closeSync(fd);
  }
}

/** Cuts the file behind its last whole record and writes its index anew. */
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
    const unfinished = `${indexFile(folder, number)}.tmp`;
    writeFileSync(unfinished, index, { mode: 0o600 });
    renameSync(unfinished, indexFile(folder, number));
  } finally {
    closeSync(fd);
  }
  close(folder, number);
}

/** Reads all of it: a machine that went down may have left anything behind, not only at the end. */
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
    for (let record = recordAt(bytes, at); record !== undefined && isSound(bytes, record); record = recordAt(bytes, at)) {
      builder.addFound(bytes, record);
      if (builder.isFull) take();
      at = record.end;
    }
    end += at;
    // Nothing, and it is not because the chunk was too small for one record.
    const needed = endOfRecord(bytes, 0);
    if (at === 0 && (bytes.length < size || needed === undefined || needed <= size)) break;
    size = at === 0 ? (needed as number) : CHUNK_BYTES;
  }
  if (!builder.isEmpty) take();
  return { end, index: lines.join("") };
}

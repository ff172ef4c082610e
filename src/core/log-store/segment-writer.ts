/** Writes a segment: buffers small records, and describes each block in the index file. */
import { closeSync, ftruncateSync, openSync, rmSync, writeSync, writevSync } from "node:fs";
import { statIfSeen } from "../os/files.ts";
import { processStat } from "../os/process-stat.ts";
import { BlockBuilder, writeBlock } from "./block.ts";
import { OwnEntries } from "./own-entries.ts";
import type { RecordHeader } from "./record.ts";
import { preamble } from "./record.ts";
import { close, indexFile, segmentFile, segmentsIn } from "./segment-files.ts";

/** A larger record is written immediately, without a copy. */
const SMALL_BYTES = 16 * 1024;
/** Size of the write buffer. It is shared, since only one segment is written at a time. */
const WRITE_BUFFER_BYTES = 128 * 1024;
const MODE = 0o600;

let writeBuffer: Buffer | undefined;

export class SegmentWriter {
  readonly number: number;
  readonly #folder: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #buffer: Buffer;
  #bufferedBytes = 0;
  /** End of the whole records in the file. */
  #end = 0;
  /** undefined: the index can't be written, and readers do without. */
  #index: number | undefined;
  readonly #builder = new BlockBuilder(0);
  readonly #own: OwnEntries;

  /** Creates a segment in the folder. */
  constructor(folder: string, now: number) {
    this.#folder = folder;
    writeBuffer ??= Buffer.allocUnsafeSlow(WRITE_BUFFER_BYTES);
    this.#buffer = writeBuffer;
    const { number, fd } = create(folder, now);
    this.#own = new OwnEntries(segmentFile(folder, { number, stage: "own" }));
    this.number = number;
    this.#fd = fd;
    this.#path = segmentFile(folder, { number, stage: "open" });
    try {
      this.#append(preamble(now, { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "" }));
      this.#builder.skip(this.#bufferedBytes);
      this.flush();
    } catch (error) {
      closeSync(fd);
      rmSync(this.#path, { force: true });
      throw error;
    }
    this.#index = openIndex(folder, number);
  }

  get bytes(): number {
    return this.#end + this.#bufferedBytes;
  }

  /** Records that are not in the file yet. */
  get buffered(): Buffer {
    return this.#buffer.subarray(0, this.#bufferedBytes);
  }

  /** Whether the file still exists, as far as it may be looked at. */
  get exists(): boolean {
    return statIfSeen(this.#path) !== undefined;
  }

  /** Adds lines of the time `at`; the caller may reuse the buffer. Throws if the file can't be written: then they are not buffered. */
  add(header: RecordHeader, at: number, lines: Buffer): void {
    if (this.#builder.isFull) this.#endBlock();
    const head = header.stamp(at, lines);
    const bytes = head.length + lines.length;
    if (bytes > SMALL_BYTES) this.#write([this.buffered, head, lines]);
    else {
      if (this.#bufferedBytes + bytes > WRITE_BUFFER_BYTES) this.flush();
      this.#append(head);
      this.#append(lines);
    }
    this.#builder.add(header, at, bytes);
    if (header.isOwn) this.#own.add(head, lines);
  }

  /** Throws if the file can't be written; `buffered` has the records that were not written. */
  flush(): void {
    if (this.#bufferedBytes > 0) this.#write([this.buffered]);
    this.#own.flush();
  }

  /** Completes the segment. Throws like `flush`. */
  close(): void {
    this.flush();
    this.#endBlock();
    this.abandon();
  }

  /** Closes the segment without writing more. */
  abandon(): void {
    this.#closeIndex();
    this.#own.close();
    closeSync(this.#fd);
    try {
      if (this.exists) close(this.#folder, this.number);
    } catch {
      // A folder without rights, or read-only: a later logger closes the segment.
    }
  }

  #append(bytes: Buffer): void {
    bytes.copy(this.#buffer, this.#bufferedBytes);
    this.#bufferedBytes += bytes.length;
  }

  /** Writes all parts or none. */
  #write(parts: readonly Buffer[]): void {
    const total = parts.reduce((sum, { length }) => sum + length, 0);
    try {
      const written = writevSync(this.#fd, parts, this.#end);
      if (written < total) this.#writeRest(Buffer.concat(parts), written);
    } catch (error) {
      ftruncateSync(this.#fd, this.#end);
      throw error;
    }
    this.#end += total;
    this.#bufferedBytes = 0;
  }

  #writeRest(bytes: Buffer, from: number): void {
    for (let at = from; at < bytes.length; ) at += writeSync(this.#fd, bytes, at, bytes.length - at, this.#end + at);
  }

  #endBlock(): void {
    this.flush();
    if (this.#builder.isEmpty) return;
    const line = writeBlock(this.#builder.take());
    if (this.#index === undefined) return;
    try {
      writeSync(this.#index, line);
    } catch {
      // Blocks missing in the index are found by scanning the segment.
      this.#closeIndex();
    }
  }

  #closeIndex(): void {
    if (this.#index !== undefined) closeSync(this.#index);
    this.#index = undefined;
  }
}

/** A logger without a keeper may write another segment at the same time, so the file is created exclusively. */
function create(folder: string, now: number): { readonly number: number; readonly fd: number } {
  for (;;) {
    const number = Math.max(now, (segmentsIn(folder).at(-1)?.number ?? 0) + 1);
    try {
      const fd = openSync(segmentFile(folder, { number, stage: "open" }), "wx", MODE);
      return { number, fd };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function openIndex(folder: string, number: number): number | undefined {
  try {
    return openSync(indexFile(folder, number), "w", MODE);
  } catch {
    // As in `#endBlock`.
    return undefined;
  }
}

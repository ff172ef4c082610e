/** Writes one segment: gathers small records, notes what each block holds in the index beside it. */
import { closeSync, ftruncateSync, openSync, rmSync, statSync, writeSync, writevSync } from "node:fs";
import { processStat } from "../os/process-stat.ts";
import { BlockBuilder, writeBlock } from "./block.ts";
import type { Label } from "./record.ts";
import { preamble } from "./record.ts";
import { close, indexFile, segmentFile, segmentsIn } from "./shelf.ts";

/** A record that is larger is written at once, without a copy. */
const SMALL_BYTES = 16 * 1024;
/** So much is gathered. One for all: only one segment is written at a time. */
const GATHER_BYTES = 128 * 1024;
const MODE = 0o600;

let gathered: Buffer | undefined;

export class SegmentWriter {
  readonly number: number;
  readonly #folder: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #held: Buffer;
  #heldBytes = 0;
  /** Of whole records in the file. */
  #end = 0;
  /** undefined: it can't be written, and readers do without. */
  #index: number | undefined;
  readonly #builder = new BlockBuilder(0);

  /** A new segment in the folder. */
  constructor(folder: string, now: number) {
    this.#folder = folder;
    gathered ??= Buffer.allocUnsafeSlow(GATHER_BYTES);
    this.#held = gathered;
    const { number, fd } = create(folder, now);
    [this.number, this.#fd, this.#path] = [number, fd, segmentFile(folder, { number, stage: "open" })];
    try {
      this.#hold(preamble(now, { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "" }));
      this.#builder.skip(this.#heldBytes);
      this.flush();
    } catch (error) {
      closeSync(fd);
      rmSync(this.#path, { force: true });
      throw error;
    }
    this.#index = openIndex(folder, number);
  }

  get bytes(): number {
    return this.#end + this.#heldBytes;
  }

  /** Records that are not in the file yet. */
  get held(): Buffer {
    return this.#held.subarray(0, this.#heldBytes);
  }

  /** Nobody has removed it. */
  get isThere(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false }) !== undefined;
  }

  /** `lines`, of the moment `at`, may be used for something else afterwards. Throws when the file takes no more: then they are not held. */
  add(label: Label, at: number, lines: Buffer): void {
    if (this.#builder.isFull) this.#endBlock();
    const head = label.stamp(at, lines);
    const bytes = head.length + lines.length;
    if (bytes > SMALL_BYTES) this.#write([this.held, head, lines]);
    else {
      if (this.#heldBytes + bytes > GATHER_BYTES) this.flush();
      this.#hold(head);
      this.#hold(lines);
    }
    this.#builder.add(label, at, bytes);
  }

  /** Throws when the file takes no more; `held` is what it has not taken. */
  flush(): void {
    if (this.#heldBytes > 0) this.#write([this.held]);
  }

  /** Nothing more comes. Throws as `flush` does. */
  close(): void {
    this.flush();
    this.#endBlock();
    this.abandon();
  }

  /** Leaves what is in the file as it is. */
  abandon(): void {
    this.#closeIndex();
    closeSync(this.#fd);
    if (this.isThere) close(this.#folder, this.number);
  }

  #hold(bytes: Buffer): void {
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes += bytes.length;
  }

  /** All or nothing. */
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
    this.#heldBytes = 0;
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
      // What the index doesn't tell is found by reading the segment itself.
      this.#closeIndex();
    }
  }

  #closeIndex(): void {
    if (this.#index !== undefined) closeSync(this.#index);
    this.#index = undefined;
  }
}

/** A logger that has lost its keeper may write a segment of its own at the same time: none takes another's number. */
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

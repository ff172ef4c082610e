/** Reads a segment in any stage: being written, closed or compressed. */
import { close, existsSync, fstat, open, read, readFile } from "node:fs";
import { promisify } from "node:util";
import type { MessagePort } from "node:worker_threads";
import { type Block, BlockBuilder, readBlocks } from "./block.ts";
import { unpack } from "./codec.ts";
import { endOfRecord, isSound, recordAt } from "./record.ts";
import { indexFile, OWN_BASE, STAGES, type Stage, segmentFile } from "./segment-files.ts";

const CHUNK_BYTES = 512 * 1024;

const openAsync = promisify(open);
const closeAsync = promisify(close);
const fstatAsync = promisify(fstat);
const readFileAsync = promisify(readFile);

export class SegmentReader {
  readonly number: number;
  readonly #fd: number;
  readonly #path: string;
  readonly #stage: Stage;
  /** Offset of the file's first byte. */
  readonly #base: number;
  readonly #blocks: Block[];
  /** The block after those, as far as it is written. */
  #tail: BlockBuilder;
  #end: number;
  #isGrowing: boolean;

  private constructor({ number, fd, path, stage, blocks }: OpenSegment) {
    this.number = number;
    this.#fd = fd;
    this.#path = path;
    this.#stage = stage;
    this.#blocks = blocks;
    this.#isGrowing = stage === "open";
    const last = blocks.at(-1);
    this.#base = stage === "own" ? OWN_BASE : 0;
    this.#end = last === undefined ? this.#base : last.at + last.bytes;
    this.#tail = new BlockBuilder(this.#end);
  }

  /** undefined if the segment no longer exists. */
  static async open(folder: string, number: number): Promise<SegmentReader | undefined> {
    const opened = await openSegment(folder, number);
    if (opened === undefined) return undefined;
    const reader = new SegmentReader(opened);
    try {
      await reader.refresh();
    } catch (error) {
      await reader.close();
      throw error;
    }
    return reader;
  }

  /** Whether it may still grow. */
  get isGrowing(): boolean {
    return this.#isGrowing;
  }

  /** End of its last whole record. */
  get end(): number {
    return this.#end;
  }

  get blocks(): readonly Block[] {
    return this.#tail.isEmpty ? this.#blocks : [...this.#blocks, this.#tail.block];
  }

  /** Reads what was written since the last call. */
  async refresh(): Promise<void> {
    if (this.#stage === "log.gz") return;
    const isGrowing = this.#isGrowing && existsSync(this.#path);
    const end = this.#base + (await fstatAsync(this.#fd)).size;
    while (this.#end < end) if (!(await this.#scan(end))) break;
    this.#isGrowing = isGrowing;
  }

  /** The uncompressed bytes of a block; the caller passes them to `release` afterwards. */
  async read({ at, bytes, packed }: Block): Promise<Buffer> {
    if (this.#stage !== "log.gz") return readPart(this.#fd, at - this.#base, bytes);
    if (packed === undefined) throw new Error(`the index of ${this.#path} doesn't have the position of byte ${at}`);
    const content = await readPart(this.#fd, packed.at, packed.bytes);
    try {
      return await unpack(content, bytes);
    } finally {
      release(content);
    }
  }

  close(): Promise<void> {
    return closeAsync(this.#fd);
  }

  /** Parses the records of one read after the end. False if none is complete. */
  async #scan(end: number): Promise<boolean> {
    const at = this.#end - this.#base;
    let bytes = await readPart(this.#fd, at, Math.min(CHUNK_BYTES, end - this.#end));
    const needed = endOfRecord(bytes, 0);
    const isWhole = needed !== undefined && this.#end + needed <= end;
    if (isWhole && needed > bytes.length) {
      release(bytes);
      bytes = await readPart(this.#fd, at, needed);
    }
    const found = isWhole ? this.#take(bytes) : 0;
    release(bytes);
    this.#end += found;
    return found > 0;
  }

  /** Length of the whole records in these bytes. */
  #take(bytes: Buffer): number {
    let at = 0;
    for (
      let record = recordAt(bytes, at);
      record !== undefined && isSound(bytes, record);
      record = recordAt(bytes, at)
    ) {
      this.#tail.addFound(bytes, record);
      if (this.#tail.isFull) this.#blocks.push(this.#tail.take());
      at = record.end;
    }
    return at;
  }
}

type OpenSegment = {
  readonly number: number;
  readonly fd: number;
  readonly path: string;
  readonly stage: Stage;
  readonly blocks: Block[];
};

/** Tries the names in the order of stages, so a segment that is renamed meanwhile is found under its next name. */
async function openSegment(folder: string, number: number): Promise<OpenSegment | undefined> {
  for (const stage of STAGES) {
    const path = segmentFile(folder, { number, stage });
    try {
      const fd = await openAsync(path, "r");
      return { number, fd, path, stage, blocks: await blocksOf(folder, number, stage) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return undefined;
}

/** Without an index a segment is scanned instead; a compressed one can't be. */
async function blocksOf(folder: string, number: number, stage: Stage): Promise<Block[]> {
  if (stage === "own") return [];
  try {
    const blocks = readBlocks(await readFileAsync(indexFile(folder, number), "utf8"));
    return stage === "log.gz" ? blocks.filter(({ packed }) => packed !== undefined) : blocks;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const readAsync = promisify(read);

/** Reads a range of a file without blocking; the result is shorter if the file ends before, as during a repair. */
export async function readPart(fd: number, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await readAsync(fd, buffer, done, bytes - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

/** Largest buffer that may be part of Node's shared pool. In Node 26 the pool is slightly larger than `Buffer.poolSize`. */
const POOL_BYTES = Math.max(Buffer.poolSize, Buffer.from("a").buffer.byteLength);

let nowhere: MessagePort | undefined;

/**
 * Frees the memory of a buffer immediately, by transferring it to a closed port; V8 lets 32 MB of buffers accumulate
 * before it collects them. Ignores buffers of Node's pool. `bytes` is empty afterwards.
 */
export function release(bytes: Buffer): void {
  if (bytes.buffer.byteLength <= POOL_BYTES) return;
  nowhere ??= closedPort();
  nowhere.postMessage(undefined, [bytes.buffer as ArrayBuffer]);
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

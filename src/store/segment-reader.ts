/** Reads one segment, whatever has become of it: being written, closed or compressed. */
import { close, existsSync, fstat, open, readFile } from "node:fs";
import { promisify } from "node:util";
import { type Block, BlockBuilder, readBlocks } from "./block.ts";
import { unpack } from "./codec.ts";
import { readPart } from "./part.ts";
import { endOfRecord, isSound, recordAt } from "./record.ts";
import { release } from "./release.ts";
import { indexFile, STAGES, type Stage, segmentFile } from "./shelf.ts";

const CHUNK_BYTES = 512 * 1024;

const [openAsync, closeAsync, fstatAsync, readFileAsync] = [promisify(open), promisify(close), promisify(fstat), promisify(readFile)];

export class SegmentReader {
  readonly number: number;
  readonly #fd: number;
  readonly #path: string;
  readonly #stage: Stage;
  readonly #blocks: Block[];
  /** The block behind those, as far as it is written. */
  #tail: BlockBuilder;
  #end: number;
  #isGrowing: boolean;

  private constructor({ number, fd, path, stage, blocks }: Opened) {
    [this.number, this.#fd, this.#path, this.#stage, this.#blocks] = [number, fd, path, stage, blocks];
    this.#isGrowing = stage === "open";
    const last = blocks.at(-1);
    this.#end = last === undefined ? 0 : last.at + last.bytes;
    this.#tail = new BlockBuilder(this.#end);
  }

  /** undefined: there is no such segment any more. */
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

  /** It may be longer later. */
  get isGrowing(): boolean {
    return this.#isGrowing;
  }

  /** Of its last whole record. */
  get end(): number {
    return this.#end;
  }

  get blocks(): readonly Block[] {
    return this.#tail.isEmpty ? this.#blocks : [...this.#blocks, this.#tail.block];
  }

  /** Looks for what was written since. */
  async refresh(): Promise<void> {
    if (this.#stage === "log.gz") return;
    const isGrowing = this.#isGrowing && existsSync(this.#path);
    const { size } = await fstatAsync(this.#fd);
    while (this.#end < size) if (!(await this.#scan(size))) break;
    this.#isGrowing = isGrowing;
  }

  /** The bytes of a block, for `release` when they are done with. */
  async read({ at, bytes, packed }: Block): Promise<Buffer> {
    if (this.#stage !== "log.gz") return readPart(this.#fd, at, bytes);
    if (packed === undefined) throw new Error(`no place of byte ${at} in ${this.#path}`);
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

  /** The records behind the end, as many as one read gives. False: none is whole. */
  async #scan(size: number): Promise<boolean> {
    let bytes = await readPart(this.#fd, this.#end, Math.min(CHUNK_BYTES, size - this.#end));
    const needed = endOfRecord(bytes, 0);
    const isWhole = needed !== undefined && this.#end + needed <= size;
    if (isWhole && needed > bytes.length) {
      release(bytes);
      bytes = await readPart(this.#fd, this.#end, needed);
    }
    const found = isWhole ? this.#take(bytes) : 0;
    release(bytes);
    this.#end += found;
    return found > 0;
  }

  /** How many of these bytes are whole records. */
  #take(bytes: Buffer): number {
    let at = 0;
    for (let record = recordAt(bytes, at); record !== undefined && isSound(bytes, record); record = recordAt(bytes, at)) {
      this.#tail.addFound(bytes, record);
      if (this.#tail.isFull) this.#blocks.push(this.#tail.take());
      at = record.end;
    }
    return at;
  }
}

type Opened = {
  readonly number: number;
  readonly fd: number;
  readonly path: string;
  readonly stage: Stage;
  readonly blocks: Block[];
};

/** By the names that a segment has one after the other: one that gets its next name meanwhile is found under that. */
async function openSegment(folder: string, number: number): Promise<Opened | undefined> {
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

/** Without an index the segment itself is read; a compressed one can't be. */
async function blocksOf(folder: string, number: number, stage: Stage): Promise<Block[]> {
  try {
    const blocks = readBlocks(await readFileAsync(indexFile(folder, number), "utf8"));
    return stage === "log.gz" ? blocks.filter(({ packed }) => packed !== undefined) : blocks;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

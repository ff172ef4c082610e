/** A part of a segment, made of whole records: the unit of reading, skipping and compression. */
import type { FoundRecord, RecordHeader } from "./record.ts";
import { idOf, isEntry, maskOf } from "./record.ts";

/** A block is complete when it has this size. */
const BLOCK_BYTES = 512 * 1024;

export type IdMask = readonly [id: string, mask: number];

export type Block = {
  /** Offset in the segment, uncompressed. */
  readonly at: number;
  readonly bytes: number;
  /** Times of the earliest and latest record; without records, `from` is after `to`. */
  readonly from: number;
  readonly to: number;
  /** The pairs of severity and category (`maskOf`) of each process; "" is procman itself. */
  readonly ids: readonly IdMask[];
  /** The same by what lines say of their severity, once the segment is compressed. `by`: `LineLevels.key`. */
  readonly said?: { readonly by: string; readonly ids: readonly IdMask[] };
  /** Position in the compressed file. */
  readonly packed?: { readonly at: number; readonly bytes: number };
};

/** Builds the description of a block from its records. */
export class BlockBuilder {
  #at: number;
  #bytes = 0;
  #from = Number.MAX_SAFE_INTEGER;
  #to = 0;
  #ids = new Map<string, number>();

  constructor(at: number) {
    this.#at = at;
  }

  get isFull(): boolean {
    return this.#bytes >= BLOCK_BYTES;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get block(): Block {
    return { at: this.#at, bytes: this.#bytes, from: this.#from, to: this.#to, ids: [...this.#ids] };
  }

  add({ id, mask }: Pick<RecordHeader, "id" | "mask">, at: number, bytes: number): void {
    this.skip(bytes);
    this.#from = Math.min(this.#from, at);
    this.#to = Math.max(this.#to, at);
    this.#ids.set(id, (this.#ids.get(id) ?? 0) | mask);
  }

  addFound(bytes: Buffer, record: FoundRecord): void {
    const { category, severity, at, start, end } = record;
    if (!isEntry(record)) this.skip(end - start);
    else this.add({ id: idOf(bytes, record), mask: maskOf(severity, category) }, at, end - start);
  }

  /** Adds a record without an entry. */
  skip(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Completes the block and begins the next one. */
  take(): Block {
    const { block } = this;
    this.#at += this.#bytes;
    this.#bytes = 0;
    this.#from = Number.MAX_SAFE_INTEGER;
    this.#to = 0;
    this.#ids = new Map();
    return block;
  }
}

/** A line of the index. */
export function writeBlock(block: Block): string {
  return `${JSON.stringify(block)}\n`;
}

/** Contiguous blocks from the beginning of the segment, up to a line that a crash has torn or damaged. */
export function readBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let end = 0;
  let packedEnd = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    const block = parse(line);
    if (block === undefined || block.at !== end || (block.packed?.at ?? packedEnd) !== packedEnd) break;
    blocks.push(block);
    end += block.bytes;
    packedEnd += block.packed?.bytes ?? 0;
  }
  return blocks;
}

function parse(line: string): Block | undefined {
  try {
    const block: unknown = JSON.parse(line);
    return isBlock(block) ? sound(block) : undefined;
  } catch {
    // Torn, or overwritten by the file system after a crash.
    return undefined;
  }
}

function isBlock(value: unknown): value is Block {
  const { at, bytes, from, to, ids, packed } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isTimed = typeof from === "number" && typeof to === "number";
  return (
    isRange({ at, bytes }) &&
    isTimed &&
    Array.isArray(ids) &&
    ids.every(isIdMask) &&
    (packed === undefined || isRange(packed))
  );
}

/** Without it more blocks are read than needed; a damaged one would hide lines. */
function sound({ said, ...block }: Block): Block {
  return Array.isArray(said?.ids) && said.ids.every(isIdMask) ? { ...block, said } : block;
}

function isRange(value: unknown): boolean {
  const { at, bytes } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Number.isSafeInteger(at) && Number.isSafeInteger(bytes) && Number(bytes) > 0;
}

function isIdMask(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "number";
}

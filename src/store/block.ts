/** A part of a segment, of whole records: what is read, skipped and compressed as one. */
import type { Found, Label } from "./record.ts";
import { idOf, isEntry, maskOf } from "./record.ts";

/** A block is over once it has so many bytes. */
const BLOCK_BYTES = 512 * 1024;

export type Block = {
  /** Place in the segment, uncompressed. */
  readonly at: number;
  readonly bytes: number;
  /** Times of its earliest and latest record; no record: `from` is after `to`. */
  readonly from: number;
  readonly to: number;
  /** Which pairs of severity and category (`maskOf`) there are of each process; "": procman itself. */
  readonly ids: readonly (readonly [id: string, mask: number])[];
  /** Place in the compressed file. */
  readonly packed?: { readonly at: number; readonly bytes: number };
};

/** Builds the description of a block while its records come by. */
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

  add({ id, mask }: Pick<Label, "id" | "mask">, at: number, bytes: number): void {
    this.skip(bytes);
    this.#from = Math.min(this.#from, at);
    this.#to = Math.max(this.#to, at);
    this.#ids.set(id, (this.#ids.get(id) ?? 0) | mask);
  }

  addFound(bytes: Buffer, record: Found): void {
    const { category, severity, at, start, end } = record;
    if (!isEntry(record)) this.skip(end - start);
    else this.add({ id: idOf(bytes, record), mask: maskOf(severity, category) }, at, end - start);
  }

  /** A record without an entry. */
  skip(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The block so far; the next one begins. */
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

/** Blocks one after the other from the beginning of the segment, as far as the text is whole: a crash may have torn its end. */
export function readBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let end = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    const block = parse(line);
    if (block === undefined || block.at !== end) break;
    blocks.push(block);
    end += block.bytes;
  }
  return blocks;
}

function parse(line: string): Block | undefined {
  try {
    const block = JSON.parse(line) as Block;
    return Number.isSafeInteger(block.at) && Number.isSafeInteger(block.bytes) && Array.isArray(block.ids) ? block : undefined;
  } catch {
    // Torn, or overwritten by whatever the file system gave back after a crash.
    return undefined;
  }
}

/** The segments that a reader has open. */
import { segmentsIn } from "./segment-files.ts";
import { SegmentReader } from "./segment-reader.ts";

export class SegmentSet {
  readonly folder: string;
  readonly #open = new Map<number, SegmentReader>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Numbers of all segments, oldest first, including open ones that were deleted from the disk. */
  get numbers(): readonly number[] {
    const there = segmentsIn(this.folder).map(({ number }) => number);
    return [...new Set([...there, ...this.#open.keys()])].sort((one, two) => one - two);
  }

  /** The segment in its current state; undefined if it was deleted. */
  async segment(number: number): Promise<SegmentReader | undefined> {
    const known = this.#open.get(number);
    if (known !== undefined) {
      await known.refresh();
      return known;
    }
    const reader = await SegmentReader.open(this.folder, number);
    if (reader !== undefined) this.#open.set(number, reader);
    return reader;
  }

  isOpen(number: number): boolean {
    return this.#open.has(number);
  }

  async release(number: number): Promise<void> {
    const reader = this.#open.get(number);
    this.#open.delete(number);
    await reader?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((number) => this.release(number)));
  }
}

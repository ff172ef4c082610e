/** Goes through the store, forwards or backwards from a place, and gives what a filter lets through, block by block. */
import { setImmediate as turn } from "node:timers/promises";
import type { Block } from "./block.ts";
import type { Filter } from "./filter.ts";
import type { Library } from "./library.ts";
import { type Match, matchesIn, type Range } from "./matches.ts";
import type { Place } from "./place.ts";
import { release } from "./release.ts";
import type { SegmentReader } from "./segment-reader.ts";

/** Blocks that are read and unpacked, by threads of their own, while one is looked through. */
const AHEAD = 1;
/** So many entries are made at a time; then the event loop has its turn. */
const BATCH = 2000;

/** Of one block, in the order asked for; maybe none. */
export type Batch = {
  readonly segment: number;
  readonly matches: readonly Match[];
  /** It was removed before it could be read. */
  readonly isGone?: true;
};

/** `characters`: of longer texts only so many. */
export type Course = { readonly library: Library; readonly filter: Filter; readonly place: Place; readonly characters?: number };

/** Oldest first. `place` is where the reading has come to, but for the entries of the latest batch. */
export async function* forwards({ library, filter, place, characters }: Course): AsyncGenerator<Batch> {
  for (const number of library.numbers) {
    const from = place.begin(number);
    if (from === undefined) continue;
    const reader = await library.segment(number);
    if (reader === undefined) {
      place.pass(number, from, false);
      yield { segment: number, matches: [], isGone: true };
      continue;
    }
    const { end, isGrowing } = reader;
    const blocks = reader.blocks.filter((block) => block.at + block.bytes > from && filter.mayBeIn(block));
    place.pass(number, from, true);
    yield* through(reader, blocks, { filter, characters, order: "asc", from, to: end });
    place.pass(number, end, isGrowing);
    if (!isGrowing) await library.release(number);
  }
}

/** Newest first. */
export async function* backwards({ library, filter, place, characters }: Course): AsyncGenerator<Batch> {
  for (const number of library.numbers.toReversed()) {
    const to = place.end(number);
    const reader = to === undefined ? undefined : await library.segment(number);
    if (to === undefined || reader === undefined) continue;
    const blocks = reader.blocks.filter((block) => block.at < to && filter.mayBeIn(block)).toReversed();
    yield* through(reader, blocks, { filter, characters, order: "desc", from: 0, to });
    await library.release(number);
  }
}

type Part = Omit<Range, "limit"> & { readonly filter: Filter };

async function* through(reader: SegmentReader, blocks: readonly Block[], part: Part): AsyncGenerator<Batch> {
  for await (const { at, bytes } of contents(reader, blocks)) {
    let { from, to } = part;
    for (;;) {
      const matches = matchesIn(bytes, at, part.filter, { ...part, from, to, limit: BATCH });
      yield { segment: reader.number, matches };
      const last = matches.at(-1);
      if (last === undefined || matches.length < BATCH) break;
      if (part.order === "asc") from = last.end;
      else to = last.start;
      await turn();
    }
  }
}

async function* contents(reader: SegmentReader, blocks: readonly Block[]): AsyncGenerator<{ readonly at: number; readonly bytes: Buffer }> {
  const coming: Promise<Buffer | undefined>[] = [];
  let next = 0;
  try {
    for (const { at } of blocks) {
      for (; next < blocks.length && coming.length <= AHEAD; next += 1) coming.push(contentOf(reader, blocks[next] as Block));
      const bytes = await coming.shift();
      if (bytes === undefined) continue;
      try {
        yield { at, bytes };
      } finally {
        release(bytes);
      }
    }
  } finally {
    // The file may be closed then, and its descriptor become another's.
    for (const bytes of await Promise.all(coming)) if (bytes !== undefined) release(bytes);
  }
}

/** undefined: it is damaged, and all others shall be shown nevertheless. */
function contentOf(reader: SegmentReader, block: Block): Promise<Buffer | undefined> {
  return reader.read(block).catch(() => undefined);
}

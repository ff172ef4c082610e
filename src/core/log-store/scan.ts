/** Reads the entries of all segments that match a filter, forwards or backwards, in batches. */
import { setImmediate as turn } from "node:timers/promises";
import { errorLine } from "../os/error-output.ts";
import type { Block } from "./block.ts";
import type { StoreCursor } from "./cursor.ts";
import type { LogMatcher } from "./filter.ts";
import { type EntryMatch, matchesIn, type TextRange } from "./matches.ts";
import { release, type SegmentReader } from "./segment-reader.ts";
import type { SegmentSet } from "./segment-set.ts";

/** Blocks that are read and decompressed in advance by the thread pool. */
const AHEAD = 1;
/** Entries created, and milliseconds of reading, before other events are handled. */
const BATCH = 2000;
const SLICE_MS = 10;

/** Interval of reports that the disk can't be read. Milliseconds. */
const REPORT_MS = 60_000;
let reportAgainAt = Number.NEGATIVE_INFINITY;

/** Matches in one block, in the requested order; may be empty. */
export type EntryBatch = {
  readonly segment: number;
  readonly matches: readonly EntryMatch[];
  /** The segment was deleted before it could be read. */
  readonly isGone?: true;
};

/** `characters`: longer texts are cut to this number. */
export type Scan = {
  readonly segments: SegmentSet;
  readonly filter: LogMatcher;
  readonly position: StoreCursor;
  readonly characters?: number;
};

/** Oldest first. The position advances with the reading, except for the entries of the latest batch. */
export async function* forwards({ segments, filter, position, characters }: Scan): AsyncGenerator<EntryBatch> {
  for (const number of segments.numbers) {
    const from = position.begin(number);
    if (from === undefined) continue;
    const reader = await segments.segment(number);
    if (reader === undefined) {
      position.pass(number, from, false);
      yield { segment: number, matches: [], isGone: true };
      continue;
    }
    const { end, isGrowing } = reader;
    const blocks = reader.blocks.filter((block) => block.at + block.bytes > from && filter.mayBeIn(block));
    position.pass(number, from, true);
    yield* through(reader, blocks, { filter, characters, order: "asc", from, to: end });
    position.pass(number, end, isGrowing);
    if (!isGrowing) await segments.release(number);
  }
}

/** Newest first. */
export async function* backwards({ segments, filter, position, characters }: Scan): AsyncGenerator<EntryBatch> {
  for (const number of segments.numbers.toReversed()) {
    const to = position.end(number);
    const reader = to === undefined ? undefined : await segments.segment(number);
    if (to === undefined || reader === undefined) continue;
    const blocks = reader.blocks.filter((block) => block.at < to && filter.mayBeIn(block)).toReversed();
    yield* through(reader, blocks, { filter, characters, order: "desc", from: 0, to });
    await segments.release(number);
  }
}

/** The content of each wanted block, newest first. Each segment is opened once. */
export async function* blocksBackwards(
  segments: SegmentSet,
  isWanted: (block: Block) => boolean,
): AsyncGenerator<{ readonly block: Block; readonly bytes: Buffer }> {
  for (const number of segments.numbers.toReversed()) {
    const reader = await segments.segment(number);
    if (reader === undefined) continue;
    const blocks = new Map(reader.blocks.filter(isWanted).map((block) => [block.at, block]));
    for await (const { at, bytes } of contents(reader, [...blocks.values()].toReversed()))
      yield { block: blocks.get(at) as Block, bytes };
    await segments.release(number);
  }
}

type ScanPart = TextRange & { readonly filter: LogMatcher };

async function* through(reader: SegmentReader, blocks: readonly Block[], part: ScanPart): AsyncGenerator<EntryBatch> {
  for await (const { at, bytes } of contents(reader, blocks)) {
    let batch: EntryMatch[] = [];
    let due = performance.now() + SLICE_MS;
    for (const matches of matchesIn(bytes, at, part.filter, part)) {
      for (const match of matches) batch.push(match);
      if (batch.length < BATCH && performance.now() < due) continue;
      if (batch.length > 0) yield { segment: reader.number, matches: batch };
      batch = [];
      await turn();
      due = performance.now() + SLICE_MS;
    }
    yield { segment: reader.number, matches: batch };
  }
}

async function* contents(
  reader: SegmentReader,
  blocks: readonly Block[],
): AsyncGenerator<{ readonly at: number; readonly bytes: Buffer }> {
  const coming: Promise<Buffer | undefined>[] = [];
  let next = 0;
  try {
    for (const { at } of blocks) {
      for (; next < blocks.length && coming.length <= AHEAD; next += 1)
        coming.push(contentOf(reader, blocks[next] as Block));
      const bytes = await coming.shift();
      if (bytes === undefined) continue;
      try {
        yield { at, bytes };
      } finally {
        release(bytes);
      }
    }
  } finally {
    // The file may be closed afterwards, and its descriptor reused.
    for (const bytes of await Promise.all(coming)) if (bytes !== undefined) release(bytes);
  }
}

/** undefined if the block is damaged or can't be read; the others are still shown. */
function contentOf(reader: SegmentReader, block: Block): Promise<Buffer | undefined> {
  return reader.read(block).catch((error: NodeJS.ErrnoException) => {
    // A failed system call, not damage.
    if (error.syscall !== undefined) reportUnreadable(reader.number, error.message);
    return undefined;
  });
}

/** Once a minute. */
function reportUnreadable(segment: number, reason: string): void {
  const now = performance.now();
  if (now < reportAgainAt) return;
  reportAgainAt = now + REPORT_MS;
  process.stderr.write(
    errorLine(`Cannot read all of the stored log: ${reason} (segment ${segment}); entries are missing`, "warn"),
  );
}

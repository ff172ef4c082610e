/** Pages of the stored log, read from the files by the service, or by the command line while no service is running. */

import { setImmediate as turn } from "node:timers/promises";
import { CATEGORIES, type LogEntry, type LogPage, type LogQuery } from "../contract/records.ts";
import type { Block } from "./block.ts";
import { cursorBefore, StoreCursor } from "./cursor.ts";
import { LogMatcher } from "./filter.ts";
import { type EntryMatch, matchesIn, type TextRange } from "./matches.ts";
import { logsFolder } from "./segment-files.ts";
import { release, type SegmentReader } from "./segment-reader.ts";
import { SegmentSet } from "./segment-set.ts";

export const DEFAULT_LIMIT = 100;
/** Text size at which a page is full, whatever the limit of entries, since the page is held in memory. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Number of further blocks that a full page is searched for another match; after that, a next page is assumed. */
const LOOK_AHEAD = 8;

export async function readLogs(stateDir: string, query: LogQuery): Promise<LogPage> {
  const segments = new SegmentSet(logsFolder(stateDir));
  try {
    const position = query.cursor === undefined ? new StoreCursor() : StoreCursor.read(query.cursor);
    const scan = { segments, filter: new LogMatcher(query), position };
    const limit = query.limit ?? DEFAULT_LIMIT;
    if (query.order !== "asc") return await page(backwards(scan), limit, (segment) => (match) => cursorBefore(segment, match.start));
    return await page(forwards(scan), limit, (segment) => {
      const cursor = position.cursors(segment);
      return (match) => cursor(match.end);
    });
  } finally {
    await segments.close();
  }
}

export type LastLinesQuery = {
  readonly process: string;
  readonly run: number;
  readonly count: number;
  /** Only lines before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** Start of the run, in milliseconds since 1970: older segments needn't be searched. */
  readonly from?: number;
  /** Longer lines are cut to this number of characters. */
  readonly characters?: number;
};

/** The last lines of a run's output, oldest first. */
export async function lastLines(
  stateDir: string,
  { process, run, count, before, from, characters }: LastLinesQuery,
): Promise<readonly LogEntry[]> {
  const segments = new SegmentSet(logsFolder(stateDir));
  try {
    const categories = CATEGORIES.filter((category) => category === "stdout" || category === "stderr");
    const bounds = { ...(before === undefined ? {} : { to: before }), ...(from === undefined ? {} : { from }) };
    const filter = new LogMatcher({ processes: [process], run, categories, ...bounds });
    const entries: LogEntry[] = [];
    const scan = { segments, filter, position: new StoreCursor(), ...(characters === undefined ? {} : { characters }) };
    for await (const { matches } of backwards(scan)) {
      entries.push(...matches.slice(0, count - entries.length).map(({ entry }) => entry));
      if (entries.length >= count) break;
    }
    return entries.reverse();
  } finally {
    await segments.close();
  }
}

type CursorOf = (match: EntryMatch) => string;

async function page(batches: AsyncGenerator<EntryBatch>, limit: number, cursors: (segment: number) => CursorOf): Promise<LogPage> {
  const entries: LogEntry[] = [];
  let room = PAGE_BYTES;
  let next = "";
  let more = 0;
  for await (const { segment, matches } of batches) {
    const taken = fitting(matches, limit - entries.length, room);
    for (const { entry, start, end } of taken) {
      entries.push(entry);
      room -= end - start;
    }
    const last = taken.at(-1);
    if (last !== undefined) next = cursors(segment)(last);
    else if (entries.length === limit || room <= 0) more += 1;
    if (matches.length > taken.length || more > LOOK_AHEAD) return { entries, next };
  }
  return { entries };
}

/** As many matches as fit in the page; the last one may exceed the remaining bytes. */
function fitting(matches: readonly EntryMatch[], count: number, bytes: number): readonly EntryMatch[] {
  let fit = 0;
  for (let room = bytes; fit < Math.min(count, matches.length) && room > 0; fit += 1) {
    const { start, end } = matches[fit] as EntryMatch;
    room -= end - start;
  }
  return matches.slice(0, fit);
}

/** Blocks that are read and decompressed in advance by the thread pool. */
const AHEAD = 1;
/** Entries created at a time before other events are handled. */
const BATCH = 2000;

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

type ScanPart = Omit<TextRange, "limit"> & { readonly filter: LogMatcher };

async function* through(reader: SegmentReader, blocks: readonly Block[], part: ScanPart): AsyncGenerator<EntryBatch> {
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
    // The file may be closed afterwards, and its descriptor reused.
    for (const bytes of await Promise.all(coming)) if (bytes !== undefined) release(bytes);
  }
}

/** undefined if the block is damaged; the others are still shown. */
function contentOf(reader: SegmentReader, block: Block): Promise<Buffer | undefined> {
  return reader.read(block).catch(() => undefined);
}

/** Follows the stored log: existing entries, then new ones, without gaps. Entries wait on disk for a slow reader, not in memory. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import type { LogItem, LogQuery } from "../contract/records.ts";
import { encodeCursor, StoreCursor } from "./cursor.ts";
import { LogMatcher, type ScopedQuery } from "./filter.ts";
import { storedLevels } from "./level-rules.ts";
import { DEFAULT_LIMIT } from "./log-pages.ts";
import { backwards, forwards, type Scan } from "./scan.ts";
import { logsFolder, segmentsIn, sizeOf } from "./segment-files.ts";
import { SegmentSet } from "./segment-set.ts";

/** Interval of polling the files: short after new entries, then growing. Milliseconds. */
const SOON_MS = 20;
const REST_MS = 200;

export async function* followLogs(stateDir: string, query: ScopedQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
  const segments = new SegmentSet(logsFolder(stateDir));
  const gaps = new PollGaps(segments);
  try {
    const filter = new LogMatcher(query, storedLevels(segments.folder));
    const scan = { segments, filter, position: await beginning(segments.folder, query, filter) };
    for (let pause = SOON_MS; !signal.aborted; pause = Math.min(pause * 2, REST_MS)) {
      for await (const item of newItems(scan, gaps)) {
        if (signal.aborted) return;
        pause = SOON_MS / 2;
        yield item;
      }
      // The abort is handled by the loop.
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await segments.close();
  }
}

async function beginning(
  folder: string,
  { cursor, from, to, order, limit = DEFAULT_LIMIT }: LogQuery,
  filter: LogMatcher,
): Promise<StoreCursor> {
  if (to !== undefined)
    throw new ProcmanError("usage", 'Cannot follow the log up to a time: following has no end; leave out "to"');
  if (order === "desc")
    throw new ProcmanError(
      "usage",
      'Cannot follow the log newest first: new entries come last; leave out "order", or use "asc"',
    );
  if (cursor !== undefined) return StoreCursor.read(cursor);
  return from === undefined ? beforeLatest(folder, filter, limit) : new StoreCursor();
}

/** All entries from the position to the current end. */
async function* newItems(scan: Scan, gaps: PollGaps): AsyncGenerator<LogItem> {
  const { position } = scan;
  const missed = gaps.check(position);
  if (missed !== undefined) yield { type: "gap", bytes: missed, cursor: encodeCursor(position) };
  for await (const { segment, matches, isGone } of forwards(scan)) {
    if (isGone) yield { type: "gap", bytes: gaps.weightOf(segment), cursor: encodeCursor(position) };
    const cursor = position.cursors(segment);
    for (const { entry, end } of matches) yield { type: "entry", entry, cursor: cursor(end) };
  }
}

/** The position before the last `limit` entries. Only offsets are kept in memory, since lines may be long. */
async function beforeLatest(folder: string, filter: LogMatcher, limit: number): Promise<StoreCursor> {
  const end = await endOf(folder);
  if (end.last === -1) return end;
  const reading = new SegmentSet(folder);
  try {
    let position = end;
    let left = limit;
    for await (const { segment, matches } of backwards({ segments: reading, filter, position: end, characters: 0 })) {
      const earliest = matches[Math.min(left, matches.length) - 1];
      if (earliest === undefined) continue;
      left -= matches.length;
      position = end.upTo(segment, earliest.start);
      if (left <= 0) break;
    }
    return position;
  } finally {
    await reading.close();
  }
}

/** The position after all existing entries. */
async function endOf(folder: string): Promise<StoreCursor> {
  const position = new StoreCursor();
  const segments = new SegmentSet(folder);
  try {
    const files = segmentsIn(folder);
    for (const { number, stage } of files) {
      if (stage !== "open" && number !== files.at(-1)?.number) continue;
      const reader = await segments.segment(number);
      if (reader !== undefined) position.pass(number, reader.end, reader.isGrowing);
    }
    return position;
  } finally {
    await segments.close();
  }
}

/** Finds segments that were deleted before they could be read. */
class PollGaps {
  readonly #segments: SegmentSet;
  #weights = new Map<number, number>();
  /** Segments of which only procman's own entries are left, so that the rest is gone for this reader. */
  readonly #reduced = new Set<number>();

  constructor(segments: SegmentSet) {
    this.#segments = segments;
  }

  /** Bytes on disk at the last check. */
  weightOf(segment: number): number {
    return this.#weights.get(segment) ?? 0;
  }

  /** Bytes deleted unread since the last check, as far as known; undefined: none. */
  check(position: StoreCursor): number | undefined {
    const { folder, numbers } = this.#segments;
    const segments = segmentsIn(folder);
    const existing = new Set(numbers);
    const reduced = new Set(
      segments.flatMap(({ number, stage }) => (stage === "own" && !this.#segments.isOpen(number) ? [number] : [])),
    );
    const isGone = (number: number): boolean =>
      !existing.has(number) || (reduced.has(number) && !this.#reduced.has(number));
    const deleted = [...this.#weights].filter(([number]) => isGone(number) && position.begin(number) !== undefined);
    for (const number of reduced) this.#reduced.add(number);
    const unread = segments.filter(({ number }) => position.begin(number) !== undefined);
    this.#weights = new Map(unread.map((segment) => [segment.number, sizeOf(folder, segment).bytes]));
    return deleted.length === 0 ? undefined : deleted.reduce((sum, [, bytes]) => sum + bytes, 0);
  }
}

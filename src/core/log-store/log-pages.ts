/** Pages of the stored log, read from the files by the service, or by the command line while no service is running. */
import { setImmediate as turn } from "node:timers/promises";
import { CATEGORIES, type LogEntry, type LogPage } from "../contract/records.ts";
import type { Block } from "./block.ts";
import { cursorBefore, StoreCursor } from "./cursor.ts";
import { LogMatcher, type ScopedQuery } from "./filter.ts";
import { type LineLevels, storedLevels } from "./level-rules.ts";
import { type EntryMatch, matchesIn } from "./matches.ts";
import { backwards, blocksBackwards, type EntryBatch, forwards } from "./scan.ts";
import { logsFolder } from "./segment-files.ts";
import { SegmentSet } from "./segment-set.ts";

export const DEFAULT_LIMIT = 100;
/** Text size at which a page is full, whatever the limit of entries, since the page is held in memory. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Number of further blocks that a full page is searched for another match; after that, a next page is assumed. */
const LOOK_AHEAD = 8;

export async function readLogs(stateDir: string, query: ScopedQuery): Promise<LogPage> {
  const segments = new SegmentSet(logsFolder(stateDir));
  try {
    const position = query.cursor === undefined ? new StoreCursor() : StoreCursor.read(query.cursor);
    const scan = { segments, filter: new LogMatcher(query, storedLevels(segments.folder)), position };
    const limit = query.limit ?? DEFAULT_LIMIT;
    if (query.order !== "asc")
      return await page(backwards(scan), limit, (segment) => (match) => cursorBefore(segment, match.start));
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

/** The last lines of runs: of all that are asked for in one turn of the event loop by one reading of the store. */
export class LastLines {
  readonly #stateDir: string;
  #asked: { readonly query: LastLinesQuery; readonly done: (lines: Promise<readonly LogEntry[]>) => void }[] = [];

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Oldest first. */
  of(query: LastLinesQuery): Promise<readonly LogEntry[]> {
    if (this.#asked.length === 0) setImmediate(() => this.#readAll());
    return new Promise((resolve) => this.#asked.push({ query, done: resolve }));
  }

  #readAll(): void {
    const asked = this.#asked.splice(0);
    const all = lastLinesOfRuns(
      this.#stateDir,
      asked.map(({ query }) => query),
    );
    for (const [index, { done }] of asked.entries()) done(all.then((lists) => lists[index] ?? []));
  }
}

/** Oldest first. */
export async function lastLines(stateDir: string, query: LastLinesQuery): Promise<readonly LogEntry[]> {
  const [lines = []] = await lastLinesOfRuns(stateDir, [query]);
  return lines;
}

async function lastLinesOfRuns(
  stateDir: string,
  queries: readonly LastLinesQuery[],
): Promise<readonly (readonly LogEntry[])[]> {
  const segments = new SegmentSet(logsFolder(stateDir));
  const levels = storedLevels(segments.folder);
  const runs = queries.map((query) => ({ ...query, filter: outputOf(query, levels), entries: [] as LogEntry[] }));
  const wanting = (block: Block) =>
    runs.filter(({ entries, count, filter }) => entries.length < count && filter.mayBeIn(block));
  try {
    for await (const { block, bytes } of blocksBackwards(segments, (block) => wanting(block).length > 0))
      for (const { filter, entries, count, characters } of wanting(block)) {
        const range = { from: 0, to: Number.MAX_SAFE_INTEGER, order: "desc", characters } as const;
        for (const matches of matchesIn(bytes, block.at, filter, range)) {
          entries.push(...matches.slice(0, count - entries.length).map(({ entry }) => entry));
          if (entries.length === count) break;
        }
        await turn();
      }
    return runs.map(({ entries }) => entries.toReversed());
  } finally {
    await segments.close();
  }
}

function outputOf({ process, run, before, from }: LastLinesQuery, levels: LineLevels): LogMatcher {
  const categories = CATEGORIES.filter((category) => category === "stdout" || category === "stderr");
  const bounds = { ...(before === undefined ? {} : { to: before }), ...(from === undefined ? {} : { from }) };
  return new LogMatcher({ processes: [process], run, categories, ...bounds }, levels);
}

type CursorOf = (match: EntryMatch) => string;

async function page(
  batches: AsyncGenerator<EntryBatch>,
  limit: number,
  cursors: (segment: number) => CursorOf,
): Promise<LogPage> {
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

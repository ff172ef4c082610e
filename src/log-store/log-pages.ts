/** Pages of the stored log, read from the files by the service, or by the command line while no service is running. */
import { CATEGORIES, type LogEntry, type LogPage } from "../contract/records.ts";
import { cursorBefore, StoreCursor } from "./cursor.ts";
import { LogMatcher, type ViewedQuery } from "./filter.ts";
import type { EntryMatch } from "./matches.ts";
import { backwards, type EntryBatch, forwards } from "./scan.ts";
import { logsFolder } from "./segment-files.ts";
import { SegmentSet } from "./segment-set.ts";

export const DEFAULT_LIMIT = 100;
/** Text size at which a page is full, whatever the limit of entries, since the page is held in memory. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Number of further blocks that a full page is searched for another match; after that, a next page is assumed. */
const LOOK_AHEAD = 8;

export async function readLogs(stateDir: string, query: ViewedQuery): Promise<LogPage> {
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

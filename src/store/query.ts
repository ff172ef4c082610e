/** Pages of the stored log, read from the files: by the service, or by the command line while no service runs. */
import type { LogEntry, LogPage, LogQuery } from "../contract/records.ts";
import { CATEGORIES } from "../contract/records.ts";
import { Filter } from "./filter.ts";
import { Library } from "./library.ts";
import type { Match } from "./matches.ts";
import { cursorBefore, Place } from "./place.ts";
import { type Batch, backwards, forwards } from "./scan.ts";
import { logsFolder } from "./shelf.ts";

export const DEFAULT_LIMIT = 100;
/** A page with so much text is full, however many entries were asked for: lines may be long, and all of it is held in memory. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** A page that is full looks through so many blocks more for whether there is a next one; then it says that there may be. */
const LOOK_AHEAD = 8;

export async function readLogs(stateDir: string, query: LogQuery): Promise<LogPage> {
  const library = new Library(logsFolder(stateDir));
  try {
    const place = query.cursor === undefined ? new Place() : Place.read(query.cursor);
    const course = { library, filter: new Filter(query), place };
    const limit = query.limit ?? DEFAULT_LIMIT;
    if (query.order !== "asc") return await page(backwards(course), limit, (segment) => (match) => cursorBefore(segment, match.start));
    return await page(forwards(course), limit, (segment) => {
      const cursor = place.cursors(segment);
      return (match) => cursor(match.end);
    });
  } finally {
    await library.close();
  }
}

export type LastLines = {
  readonly process: string;
  readonly run: number;
  readonly count: number;
  /** Milliseconds since 1970: earlier lines only. */
  readonly before?: number;
  /** That the run began then spares the search in all that is older. */
  readonly from?: number;
  /** Of longer lines only so many characters. */
  readonly characters?: number;
};

/** The last lines of output of a run, oldest first. */
export async function lastLines(
  stateDir: string,
  { process, run, count, before, from, characters }: LastLines,
): Promise<readonly LogEntry[]> {
  const library = new Library(logsFolder(stateDir));
  try {
    const categories = CATEGORIES.filter((category) => category === "stdout" || category === "stderr");
    const bounds = { ...(before === undefined ? {} : { to: before }), ...(from === undefined ? {} : { from }) };
    const filter = new Filter({ processes: [process], run, categories, ...bounds });
    const entries: LogEntry[] = [];
    const course = { library, filter, place: new Place(), ...(characters === undefined ? {} : { characters }) };
    for await (const { matches } of backwards(course)) {
      entries.push(...matches.slice(0, count - entries.length).map(({ entry }) => entry));
      if (entries.length >= count) break;
    }
    return entries.reverse();
  } finally {
    await library.close();
  }
}

type CursorOf = (match: Match) => string;

async function page(batches: AsyncGenerator<Batch>, limit: number, cursors: (segment: number) => CursorOf): Promise<LogPage> {
  const entries: LogEntry[] = [];
  let room = PAGE_BYTES;
  let next = "";
  let more = 0;
  for await (const { segment, matches } of batches) {
    const wanted = fitting(matches, limit - entries.length, room);
    for (const { entry, start, end } of wanted) {
      entries.push(entry);
      room -= end - start;
    }
    const last = wanted.at(-1);
    if (last !== undefined) next = cursors(segment)(last);
    else if (entries.length === limit || room <= 0) more += 1;
    if (matches.length > wanted.length || more > LOOK_AHEAD) return { entries, next };
  }
  return { entries };
}

/** The first ones, at most so many; the last of them may be larger than the room that is left. */
function fitting(matches: readonly Match[], count: number, bytes: number): readonly Match[] {
  let fit = 0;
  for (let room = bytes; fit < Math.min(count, matches.length) && room > 0; fit += 1) {
    const { start, end } = matches[fit] as Match;
    room -= end - start;
  }
  return matches.slice(0, fit);
}

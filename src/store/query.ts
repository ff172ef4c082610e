/** Pages of the stored log, read from the files: by the service, or by the command line while no service runs. */
import type { LogEntry, LogPage, LogQuery } from "../contract/records.ts";
import { CATEGORIES } from "../contract/records.ts";
import { Filter } from "./filter.ts";
import { Library } from "./library.ts";
import { cursorBefore, Place } from "./place.ts";
import { type Batch, backwards, forwards } from "./scan.ts";
import { logsFolder } from "./shelf.ts";

export const DEFAULT_LIMIT = 100;
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
};

/** The last lines of output of a run, oldest first. */
export async function lastLines(stateDir: string, { process, run, count, before, from }: LastLines): Promise<readonly LogEntry[]> {
  const library = new Library(logsFolder(stateDir));
  try {
    const categories = CATEGORIES.filter((category) => category === "stdout" || category === "stderr");
    const bounds = { ...(before === undefined ? {} : { to: before }), ...(from === undefined ? {} : { from }) };
    const filter = new Filter({ processes: [process], run, categories, ...bounds });
    const entries: LogEntry[] = [];
    for await (const { matches } of backwards({ library, filter, place: new Place() })) {
      entries.push(...matches.slice(0, count - entries.length).map(({ entry }) => entry));
      if (entries.length >= count) break;
    }
    return entries.reverse();
  } finally {
    await library.close();
  }
}

type CursorOf = (match: { readonly start: number; readonly end: number }) => string;

async function page(batches: AsyncGenerator<Batch>, limit: number, cursors: (segment: number) => CursorOf): Promise<LogPage> {
  const entries: LogEntry[] = [];
  let next = "";
  let more = 0;
  for await (const { segment, matches } of batches) {
    const wanted = matches.slice(0, limit - entries.length);
    entries.push(...wanted.map(({ entry }) => entry));
    const last = wanted.at(-1);
    if (last !== undefined) next = cursors(segment)(last);
    else if (entries.length === limit) more += 1;
    if (matches.length > wanted.length || more > LOOK_AHEAD) return { entries, next };
  }
  return { entries };
}

/** The stored log as it grows: what is there, then what comes, without a hole. It waits on the disk for a slow reader, not in memory. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LogItem, LogQuery } from "../contract/records.ts";
import { Filter } from "./filter.ts";
import { Library } from "./library.ts";
import { cursorOf, Place } from "./place.ts";
import { DEFAULT_LIMIT } from "./query.ts";
import { backwards, type Course, forwards } from "./scan.ts";
import { logsFolder, segmentsIn, weigh } from "./shelf.ts";

/** Between two looks at the files: soon after something came, then more and more rarely. */
const SOON_MS = 20;
const REST_MS = 200;

export async function* followLogs(stateDir: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
  const library = new Library(logsFolder(stateDir));
  const gaps = new Gaps(library);
  try {
    const place = query.cursor === undefined ? new Place() : Place.read(query.cursor);
    const course = { library, filter: new Filter(query), place };
    if (query.cursor === undefined && query.from === undefined) yield* latest(course, query.limit ?? DEFAULT_LIMIT);
    for (let pause = SOON_MS; !signal.aborted; pause = Math.min(pause * 2, REST_MS)) {
      for await (const item of news(course, gaps)) {
        if (signal.aborted) return;
        pause = SOON_MS / 2;
        yield item;
      }
      // A rejection says no more than the signal does.
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await library.close();
  }
}

/** All from `place` to the end of now. */
async function* news(course: Course, gaps: Gaps): AsyncGenerator<LogItem> {
  const { place } = course;
  const missed = gaps.look(place);
  if (missed !== undefined) yield { type: "gap", bytes: missed, cursor: cursorOf(place) };
  for await (const { segment, matches, isGone } of forwards(course)) {
    if (isGone) yield { type: "gap", bytes: gaps.weightOf(segment), cursor: cursorOf(place) };
    const cursor = place.cursors(segment);
    for (const { entry, end } of matches) yield { type: "entry", entry, cursor: cursor(end) };
  }
}

/** The last entries of all that is there now, oldest first. Afterwards `place` is behind them. */
async function* latest({ library, filter, place }: Course, limit: number): AsyncGenerator<LogItem> {
  const segments = segmentsIn(library.folder);
  for (const { number, stage } of segments) {
    if (stage !== "open" && number !== segments.at(-1)?.number) continue;
    const reader = await library.segment(number);
    if (reader === undefined) continue;
    const { end, isGrowing } = reader;
    place.pass(number, end, isGrowing);
    if (!isGrowing) await library.release(number);
  }
  if (place.last === -1) return;
  const items: LogItem[] = [];
  const reading = new Library(library.folder);
  try {
    for await (const { segment, matches } of backwards({ library: reading, filter, place })) {
      const cursor = place.cursors(segment, true);
      for (const { entry, end } of matches.slice(0, limit - items.length)) items.push({ type: "entry", entry, cursor: cursor(end) });
      if (items.length >= limit) break;
    }
  } finally {
    await reading.close();
  }
  yield* items.reverse();
}

/** What was retired before it could be read. */
class Gaps {
  readonly #library: Library;
  #weights = new Map<number, number>();

  constructor(library: Library) {
    this.#library = library;
  }

  /** On the disk, at the last look. */
  weightOf(segment: number): number {
    return this.#weights.get(segment) ?? 0;
  }

  /** Bytes that are gone since the last look (as far as known); undefined: none. */
  look(place: Place): number | undefined {
    const { folder, numbers } = this.#library;
    const segments = segmentsIn(folder);
    const there = new Set(numbers);
    const gone = [...this.#weights].filter(([number]) => !there.has(number) && place.begin(number) !== undefined);
    const unread = segments.filter(({ number }) => place.begin(number) !== undefined);
    this.#weights = new Map(unread.map((segment) => [segment.number, weigh(folder, segment).bytes]));
    return gone.length === 0 ? undefined : gone.reduce((sum, [, bytes]) => sum + bytes, 0);
  }
}

/** The stored log as it grows: what is there, then what comes, without a hole. It waits on the disk for a slow reader, not in memory. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
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
    const filter = new Filter(query);
    const course = { library, filter, place: await beginning(library.folder, query, filter) };
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

async function beginning(folder: string, { cursor, from, to, order, limit = DEFAULT_LIMIT }: LogQuery, filter: Filter): Promise<Place> {
  if (to !== undefined) throw new ProcmanError("usage", 'Cannot follow the log up to a time: what comes has no end; leave out "to"');
  if (order === "desc")
    throw new ProcmanError("usage", 'Cannot follow the log newest first: what comes is newer; leave out "order", or say "asc"');
  if (cursor !== undefined) return Place.read(cursor);
  return from === undefined ? beforeLatest(folder, filter, limit) : new Place();
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

/** Before the last `limit` entries of all that is there now. Only places are kept of them: lines may be long. */
async function beforeLatest(folder: string, filter: Filter, limit: number): Promise<Place> {
  const end = await endOf(folder);
  if (end.last === -1) return end;
  const reading = new Library(folder);
  try {
    let [place, left] = [end, limit];
    for await (const { segment, matches } of backwards({ library: reading, filter, place: end, characters: 0 })) {
      const earliest = matches[Math.min(left, matches.length) - 1];
      if (earliest === undefined) continue;
      left -= matches.length;
      place = end.upTo(segment, earliest.start);
      if (left <= 0) break;
    }
    return place;
  } finally {
    await reading.close();
  }
}

/** Behind all that is there now. */
async function endOf(folder: string): Promise<Place> {
  const place = new Place();
  const library = new Library(folder);
  try {
    const segments = segmentsIn(folder);
    for (const { number, stage } of segments) {
      if (stage !== "open" && number !== segments.at(-1)?.number) continue;
      const reader = await library.segment(number);
      if (reader !== undefined) place.pass(number, reader.end, reader.isGrowing);
    }
    return place;
  } finally {
    await library.close();
  }
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

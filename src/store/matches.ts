/** The entries of one block that a query asks for. */
import { CATEGORIES, type LogEntry, SEVERITIES } from "../contract/records.ts";
import type { Filter } from "./filter.ts";
import type { Needle } from "./needle.ts";
import { type Found, idOf, recordAt } from "./record.ts";

const NEWLINE = 0x0a;
const MAX_CHARACTER_BYTES = 4;

type Order = "asc" | "desc";

/** An entry, and where it lies in the segment. */
export type Match = { readonly start: number; readonly end: number; readonly entry: LogEntry };

/** Which of them: those that begin at `from` or later and before `to` (places in the segment), `limit` in this order. */
export type Range = {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  readonly limit: number;
  /** Of longer texts only so many. */
  readonly characters: number | undefined;
};

type Span = { readonly record: Found; readonly start: number; readonly end: number };

/** `at`: place of the block in the segment. */
export function matchesIn(bytes: Buffer, at: number, filter: Filter, { from, to, order, limit, characters }: Range): readonly Match[] {
  // Most blocks don't have the text at all: their records need not be looked at.
  if (filter.needle !== undefined && filter.needle.find(bytes, 0, bytes.length) === -1) return [];
  const records = recordsIn(bytes, filter);
  if (order === "desc") records.reverse();
  const matches: Match[] = [];
  for (const record of records) {
    if (matches.length >= limit) break;
    const spans = spansOf(bytes, record, filter).filter(({ start }) => at + start >= from && at + start < to);
    if (order === "desc") spans.reverse();
    for (const span of spans.slice(0, limit - matches.length))
      matches.push({ start: at + span.start, end: at + span.end, entry: entryOf(bytes, span, characters) });
  }
  return matches;
}

function recordsIn(bytes: Buffer, filter: Filter): Found[] {
  const records: Found[] = [];
  for (let record = recordAt(bytes, 0); record !== undefined; record = recordAt(bytes, record.end))
    if (filter.wants(bytes, record)) records.push(record);
  return records;
}

/** Entries of a record, in their order; with a needle only those that have it. */
function spansOf(bytes: Buffer, record: Found, { needle }: Filter): Span[] {
  const { dataStart, end, isWhole } = record;
  if (needle !== undefined) return isWhole ? wholeWith(bytes, record, needle) : linesWith(bytes, record, needle);
  if (isWhole) return [{ record, start: dataStart, end }];
  const spans: Span[] = [];
  for (let start = dataStart; start < end; ) {
    const next = lineEnd(bytes, start, end);
    spans.push({ record, start, end: next });
    start = next;
  }
  return spans;
}

function wholeWith(bytes: Buffer, record: Found, needle: Needle): Span[] {
  const { dataStart, end } = record;
  return needle.find(bytes, dataStart, end - 1) === -1 ? [] : [{ record, start: dataStart, end }];
}

function linesWith(bytes: Buffer, record: Found, needle: Needle): Span[] {
  const { dataStart, end } = record;
  const spans: Span[] = [];
  let at = dataStart;
  for (let hit = needle.find(bytes, at, end); hit !== -1; hit = needle.find(bytes, at, end)) {
    const start = Math.max(at, bytes.lastIndexOf(NEWLINE, hit) + 1);
    at = lineEnd(bytes, hit, end);
    // A text with a newline in it is in no line.
    if (hit + needle.length < at) spans.push({ record, start, end: at });
  }
  return spans;
}

function lineEnd(bytes: Buffer, from: number, end: number): number {
  const newline = bytes.indexOf(NEWLINE, from);
  return newline === -1 ? end : Math.min(newline + 1, end);
}

function entryOf(bytes: Buffer, { record, start, end }: Span, characters: number | undefined): LogEntry {
  const { at, run, instance, severity, category } = record;
  const id = idOf(bytes, record);
  return {
    time: stamp(at),
    ...(id === "" ? {} : { process: id }),
    ...(instance === 0 ? {} : { instance }),
    ...(run === 0 ? {} : { run }),
    severity: SEVERITIES[severity] ?? "info",
    category: CATEGORIES[category] ?? "service",
    text: characters === undefined ? bytes.toString("utf8", start, end - 1) : beginning(bytes, start, end - 1, characters),
  };
}

/** Nothing longer is made meanwhile: a part of a text keeps all of it in memory. */
function beginning(bytes: Buffer, start: number, end: number, characters: number): string {
  const text = bytes.toString("utf8", start, Math.min(end, start + characters * MAX_CHARACTER_BYTES));
  return text.slice(0, characters);
}

let [lastTime, lastStamp] = [Number.NaN, ""];

/** All lines of a record have one time. */
function stamp(at: number): string {
  if (at !== lastTime) [lastTime, lastStamp] = [at, new Date(at).toISOString()];
  return lastStamp;
}

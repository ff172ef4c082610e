/** The entries of a block that match a query. */
import { CATEGORIES, type LogEntry, SEVERITIES } from "../contract/records.ts";
import type { LogMatcher } from "./filter.ts";
import { type FoundRecord, idOf, recordAt } from "./record.ts";
import type { Finder } from "./text-matcher.ts";

const NEWLINE = 0x0a;
const MAX_CHARACTER_BYTES = 4;

type Order = "asc" | "desc";

/** An entry and its position in the segment. */
export type EntryMatch = { readonly start: number; readonly end: number; readonly entry: LogEntry };

/** Matches that begin at or after `from` and before `to` (offsets in the segment), in this order. */
export type TextRange = {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  /** Longer texts are cut to this number of characters. */
  readonly characters: number | undefined;
};

type Span = { readonly record: FoundRecord; readonly start: number; readonly end: number };

/** Entries that are made at a time. */
const PORTION = 2_000;

/** `at`: offset of the block in the segment. Yields for each record, also without a match: so the caller can pause. */
export function* matchesIn(
  bytes: Buffer,
  at: number,
  filter: LogMatcher,
  { from, to, order, characters }: TextRange,
): Generator<readonly EntryMatch[]> {
  // Most blocks don't contain the text, so their records needn't be parsed.
  if (!filter.text.mayBeIn(bytes)) return;
  const records = recordsIn(bytes, filter);
  if (order === "desc") records.reverse();
  for (const record of records) {
    const isWanted = ({ start }: Span): boolean => at + start >= from && at + start < to;
    const spans = spansOf(bytes, record, filter, isWanted);
    if (order === "desc") spans.reverse();
    if (spans.length === 0) yield [];
    for (let next = 0; next < spans.length; next += PORTION)
      yield entriesOf(spans.slice(next, next + PORTION), bytes, { at, filter, characters });
  }
}

function recordsIn(bytes: Buffer, filter: LogMatcher): FoundRecord[] {
  const records: FoundRecord[] = [];
  for (let record = recordAt(bytes, 0); record !== undefined; record = recordAt(bytes, record.end))
    if (filter.wants(bytes, record)) records.push(record);
  return records;
}

/** The matching entries of a record in order. */
function spansOf(bytes: Buffer, record: FoundRecord, filter: LogMatcher, isWanted: (span: Span) => boolean): Span[] {
  if (!filter.maySevereBeIn(bytes, record)) return [];
  return candidatesIn(bytes, record, filter).filter(
    (span) => isWanted(span) && filter.matches(bytes, record, span.start, span.end - 1),
  );
}

/** With a text to find, only the entries that have it. */
function candidatesIn(bytes: Buffer, record: FoundRecord, { text: { finder } }: LogMatcher): Span[] {
  const { dataStart, end, isWhole } = record;
  if (finder !== undefined && !isWhole) return linesWith(bytes, record, finder);
  if (isWhole) return [{ record, start: dataStart, end }];
  const spans: Span[] = [];
  for (let start = dataStart; start < end; ) {
    const next = lineEnd(bytes, start, end);
    spans.push({ record, start, end: next });
    start = next;
  }
  return spans;
}

function linesWith(bytes: Buffer, record: FoundRecord, finder: Finder): Span[] {
  const { dataStart, end } = record;
  const spans: Span[] = [];
  let at = dataStart;
  for (let hit = finder.find(bytes, at, end); hit !== -1; hit = finder.find(bytes, at, end)) {
    const start = Math.max(at, bytes.lastIndexOf(NEWLINE, hit) + 1);
    at = lineEnd(bytes, hit, end);
    // A text with a newline in it matches no line.
    if (hit + finder.length < at) spans.push({ record, start, end: at });
  }
  return spans;
}

function lineEnd(bytes: Buffer, from: number, end: number): number {
  const newline = bytes.indexOf(NEWLINE, from);
  return newline === -1 ? end : Math.min(newline + 1, end);
}

type EntryOptions = Pick<TextRange, "characters"> & { readonly at: number; readonly filter: LogMatcher };

function entriesOf(
  spans: readonly Span[],
  bytes: Buffer,
  { at, filter, characters }: EntryOptions,
): readonly EntryMatch[] {
  return spans.flatMap((span) => {
    const entry = filter.isViewed
      ? viewedEntry(bytes, span, filter, characters)
      : entryOf(bytes, span, filter, characters);
    return entry === undefined ? [] : [{ start: at + span.start, end: at + span.end, entry }];
  });
}

/** What is shown instead of a text depends on all of it, so it is cut afterwards. */
function viewedEntry(
  bytes: Buffer,
  span: Span,
  filter: LogMatcher,
  characters: number | undefined,
): LogEntry | undefined {
  const entry = filter.shown(entryOf(bytes, span, filter, undefined));
  return entry === undefined || characters === undefined ? entry : { ...entry, text: entry.text.slice(0, characters) };
}

function entryOf(
  bytes: Buffer,
  { record, start, end }: Span,
  filter: LogMatcher,
  characters: number | undefined,
): LogEntry {
  const { at, run, instance, category } = record;
  const id = idOf(bytes, record);
  return {
    time: stamp(at),
    ...(id === "" ? {} : { process: id }),
    ...(instance === 0 ? {} : { instance }),
    ...(run === 0 ? {} : { run }),
    severity: SEVERITIES[filter.severityOf(bytes, record, start, end - 1)] ?? "info",
    category: CATEGORIES[category] ?? "service",
    text:
      characters === undefined ? bytes.toString("utf8", start, end - 1) : beginning(bytes, start, end - 1, characters),
  };
}

/** Decodes only a prefix: a substring would keep the whole text in memory. */
function beginning(bytes: Buffer, start: number, end: number, characters: number): string {
  const text = bytes.toString("utf8", start, Math.min(end, start + characters * MAX_CHARACTER_BYTES));
  return text.slice(0, characters);
}

let lastTime = Number.NaN;
let lastStamp = "";

/** All lines of a record have the same time. */
function stamp(at: number): string {
  if (at !== lastTime) {
    lastTime = at;
    lastStamp = new Date(at).toISOString();
  }
  return lastStamp;
}

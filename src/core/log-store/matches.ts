/** The entries of a block that match a query. */
import { CATEGORIES, type LogEntry, SEVERITIES } from "../contract/records.ts";
import type { LogMatcher } from "./filter.ts";
import { type FoundRecord, idOf, recordAt } from "./record.ts";
import type { TextMatcher } from "./text-matcher.ts";

const NEWLINE = 0x0a;
const MAX_CHARACTER_BYTES = 4;

type Order = "asc" | "desc";

/** An entry and its position in the segment. */
export type EntryMatch = { readonly start: number; readonly end: number; readonly entry: LogEntry };

/** Matches that begin at or after `from` and before `to` (offsets in the segment), at most `limit` in this order. */
export type TextRange = {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  readonly limit: number;
  /** Longer texts are cut to this number of characters. */
  readonly characters: number | undefined;
};

type Span = { readonly record: FoundRecord; readonly start: number; readonly end: number };

/** `at`: offset of the block in the segment. */
export function matchesIn(
  bytes: Buffer,
  at: number,
  filter: LogMatcher,
  { from, to, order, limit, characters }: TextRange,
): readonly EntryMatch[] {
  // Most blocks don't contain the text, so their records needn't be parsed.
  if (filter.textMatcher !== undefined && !filter.textMatcher.isIn(bytes)) return [];
  const records = recordsIn(bytes, filter);
  if (order === "desc") records.reverse();
  const matches: EntryMatch[] = [];
  for (const record of records) {
    if (matches.length >= limit) break;
    const spans = spansOf(bytes, record, filter).filter(({ start }) => at + start >= from && at + start < to);
    if (order === "desc") spans.reverse();
    matches.push(...entriesOf(spans, bytes, { at, filter, characters, limit: limit - matches.length }));
  }
  return matches;
}

function recordsIn(bytes: Buffer, filter: LogMatcher): FoundRecord[] {
  const records: FoundRecord[] = [];
  for (let record = recordAt(bytes, 0); record !== undefined; record = recordAt(bytes, record.end))
    if (filter.wants(bytes, record)) records.push(record);
  return records;
}

/** Entries of a record in order; with a text matcher, only those that contain the text. */
function spansOf(bytes: Buffer, record: FoundRecord, { textMatcher }: LogMatcher): Span[] {
  const { dataStart, end, isWhole } = record;
  if (textMatcher !== undefined)
    return isWhole ? wholeWith(bytes, record, textMatcher) : linesWith(bytes, record, textMatcher);
  if (isWhole) return [{ record, start: dataStart, end }];
  const spans: Span[] = [];
  for (let start = dataStart; start < end; ) {
    const next = lineEnd(bytes, start, end);
    spans.push({ record, start, end: next });
    start = next;
  }
  return spans;
}

function wholeWith(bytes: Buffer, record: FoundRecord, textMatcher: TextMatcher): Span[] {
  const { dataStart, end } = record;
  return textMatcher.find(bytes, dataStart, end - 1) === -1 ? [] : [{ record, start: dataStart, end }];
}

function linesWith(bytes: Buffer, record: FoundRecord, textMatcher: TextMatcher): Span[] {
  const { dataStart, end } = record;
  const spans: Span[] = [];
  let at = dataStart;
  for (let hit = textMatcher.find(bytes, at, end); hit !== -1; hit = textMatcher.find(bytes, at, end)) {
    const start = Math.max(at, bytes.lastIndexOf(NEWLINE, hit) + 1);
    at = lineEnd(bytes, hit, end);
    // A text with a newline in it matches no line.
    if (hit + textMatcher.length < at) spans.push({ record, start, end: at });
  }
  return spans;
}

function lineEnd(bytes: Buffer, from: number, end: number): number {
  const newline = bytes.indexOf(NEWLINE, from);
  return newline === -1 ? end : Math.min(newline + 1, end);
}

type EntryOptions = Pick<TextRange, "limit" | "characters"> & { readonly at: number; readonly filter: LogMatcher };

function entriesOf(
  spans: readonly Span[],
  bytes: Buffer,
  { at, filter, characters, limit }: EntryOptions,
): readonly EntryMatch[] {
  const match = ({ start, end }: Span, entry: LogEntry): EntryMatch => ({ start: at + start, end: at + end, entry });
  if (!filter.isViewed) return spans.slice(0, limit).map((span) => match(span, entryOf(bytes, span, characters)));
  const matches: EntryMatch[] = [];
  for (const span of spans) {
    const entry = matches.length < limit ? viewedEntry(bytes, span, filter, characters) : undefined;
    if (entry !== undefined) matches.push(match(span, entry));
  }
  return matches;
}

/** What is shown instead of a text depends on all of it, so it is cut afterwards. */
function viewedEntry(
  bytes: Buffer,
  span: Span,
  filter: LogMatcher,
  characters: number | undefined,
): LogEntry | undefined {
  const entry = filter.shown(entryOf(bytes, span, undefined));
  return entry === undefined || characters === undefined ? entry : { ...entry, text: entry.text.slice(0, characters) };
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

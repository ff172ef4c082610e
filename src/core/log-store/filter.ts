/** Filters of a query, applied to a block, a record and a text, so that most data is never parsed. */
import { CATEGORIES, type LogEntry, type LogQuery, SEVERITIES } from "../contract/records.ts";
import type { Block } from "./block.ts";
import { isOutput, LineLevels } from "./level-rules.ts";
import { type FoundRecord, idOf, isEntry, maskOf } from "./record.ts";
import { TextFilter } from "./text-filter.ts";

/** What a reader may see. It may change while it reads. */
export type LogView = {
  /** Whether entries of this process are seen. `id` is empty for procman's own; `instance` is 0 for a process without cluster. */
  readonly allows: (id: string, instance: number) => boolean;
  /** The entry as the reader sees it; a search looks at this. */
  readonly shown: (entry: LogEntry) => LogEntry;
};

export type ScopedQuery = LogQuery & {
  /** Selects entries of these processes and clusters, too. */
  readonly isNamed?: (id: string) => boolean;
  /** Absent: all is seen. */
  readonly view?: LogView;
};

/** `run`: only entries of this run. */
export type LogFilter = Pick<
  ScopedQuery,
  "processes" | "severity" | "categories" | "from" | "to" | "search" | "where" | "regex" | "isNamed" | "view"
> & {
  readonly run?: number;
};

/** The latest time of a `Date`. Milliseconds since 1970. */
const MAX_TIME = 8.64e15;

export class LogMatcher {
  readonly text: TextFilter;
  readonly #levels: LineLevels;
  readonly #view: LogView | undefined;
  readonly #names: { readonly has: (id: string) => boolean } | undefined;
  readonly #mask: number;
  /** The same for records whose lines may say another severity than their stream. */
  readonly #recordMask: number;
  readonly #from: number;
  readonly #to: number;
  readonly #run: number | undefined;

  /** `levels`: what lines say of their severity. */
  constructor(
    { processes = [], isNamed, severity, categories, from, to, run, view, ...texts }: LogFilter,
    levels: LineLevels = new LineLevels(),
  ) {
    this.text = new TextFilter(texts);
    this.#view = view;
    this.#names = namesOf(new Set(processes), isNamed);
    this.#levels = levels;
    this.#mask = masksOf(severity, categories);
    this.#recordMask = levels.isOff ? this.#mask : this.#mask | (masksOf(undefined, categories) & OUTPUT_MASK);
    this.#from = from ?? Number.NEGATIVE_INFINITY;
    this.#to = to ?? Number.POSITIVE_INFINITY;
    this.#run = run;
  }

  /** False if no entry of the block can match. */
  mayBeIn({ from, to, ids, said }: Block): boolean {
    if (to < this.#from || from >= this.#to) return false;
    const isKnown = said !== undefined && said.by === this.#levels.key;
    const wanted = isKnown ? this.#mask : this.#recordMask;
    return (isKnown ? said.ids : ids).some(([id, mask]) => (mask & wanted) !== 0 && this.#isNamed(id, true));
  }

  /** Whether the record may have entries that match, apart from their texts. */
  wants(bytes: Buffer, record: FoundRecord): boolean {
    const { at, severity, category, run, instance } = record;
    if (!isEntry(record) || (maskOf(severity, category) & this.#recordMask) === 0) return false;
    // Not so in a damaged record.
    if (!(Math.abs(at) <= MAX_TIME)) return false;
    if (at < this.#from || at >= this.#to || (this.#run !== undefined && run !== this.#run)) return false;
    if (this.#names === undefined && this.#view === undefined) return true;
    const id = idOf(bytes, record);
    return this.#isNamed(id, instance > 0) && this.#view?.allows(id, instance) !== false;
  }

  /** Index in `SEVERITIES` of the entry from `start` to `end`: what the line says, else that of its stream. */
  severityOf(bytes: Buffer, { category, severity }: FoundRecord, start: number, end: number): number {
    const said = isOutput(category) ? this.#levels.of(bytes, start, end) : -1;
    return said === -1 ? severity : said;
  }

  /** Whether an entry of a wanted record matches: its text, and what it says of its severity. */
  matches(bytes: Buffer, record: FoundRecord, start: number, end: number): boolean {
    if (!this.text.fits(bytes, start, end)) return false;
    if (this.#mask === this.#recordMask) return true;
    return (maskOf(this.severityOf(bytes, record, start, end), record.category) & this.#mask) !== 0;
  }

  /** False if no entry of a wanted record is severe enough. Faster than to ask for each. */
  maySevereBeIn(bytes: Buffer, { severity, category, dataStart, end }: FoundRecord): boolean {
    return (maskOf(severity, category) & this.#mask) !== 0 || this.#levels.mayBeIn(bytes, dataStart, end);
  }

  /** Whether the reader sees entries otherwise than they are stored. */
  get isViewed(): boolean {
    return this.#view !== undefined;
  }

  /** The entry as the reader sees it; undefined if its text doesn't match there. */
  shown(entry: LogEntry): LogEntry | undefined {
    const seen = this.#view?.shown(entry) ?? entry;
    const bytes = Buffer.from(seen.text);
    return seen === entry || this.text.fits(bytes, 0, bytes.length) ? seen : undefined;
  }

  /** Matches its own id or, for an instance `web-2`, the id of its cluster. */
  #isNamed(id: string, mayBeInstance: boolean): boolean {
    const names = this.#names;
    if (names === undefined || names.has(id)) return true;
    return mayBeInstance && names.has(id.replace(/-\d+$/, ""));
  }
}

/** The severities of all output. */
const OUTPUT_MASK = masksOf(undefined, ["stdout", "stderr"]);

function namesOf(
  ids: ReadonlySet<string>,
  isNamed: LogFilter["isNamed"],
): { readonly has: (id: string) => boolean } | undefined {
  if (isNamed !== undefined) return { has: (id) => ids.has(id) || isNamed(id) };
  return ids.size === 0 ? undefined : ids;
}

function masksOf(severity: LogQuery["severity"], categories: LogQuery["categories"]): number {
  const least = severity === undefined ? 0 : SEVERITIES.indexOf(severity);
  const wanted = categories === undefined || categories.length === 0 ? CATEGORIES : categories;
  let mask = 0;
  for (let level = least; level < SEVERITIES.length; level += 1)
    for (const category of wanted) mask |= maskOf(level, CATEGORIES.indexOf(category));
  return mask;
}

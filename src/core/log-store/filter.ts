/** Filters of a query, applied to a block, a record and a text, so that most data is never parsed. */
import { CATEGORIES, type LogEntry, type LogQuery, SEVERITIES } from "../contract/records.ts";
import type { Block } from "./block.ts";
import { type FoundRecord, idOf, isEntry, maskOf } from "./record.ts";
import { TextMatcher } from "./text-matcher.ts";

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
  "processes" | "severity" | "categories" | "from" | "to" | "search" | "isNamed" | "view"
> & {
  readonly run?: number;
};

/** The latest time of a `Date`. Milliseconds since 1970. */
const MAX_TIME = 8.64e15;

export class LogMatcher {
  readonly textMatcher: TextMatcher | undefined;
  readonly #search: string;
  readonly #view: LogView | undefined;
  readonly #names: { readonly has: (id: string) => boolean } | undefined;
  readonly #mask: number;
  readonly #from: number;
  readonly #to: number;
  readonly #run: number | undefined;

  constructor({ processes = [], isNamed, severity, categories, from, to, search = "", run, view }: LogFilter) {
    this.textMatcher = search === "" ? undefined : new TextMatcher(search);
    this.#search = search.toLowerCase();
    this.#view = view;
    this.#names = namesOf(new Set(processes), isNamed);
    this.#mask = masksOf(severity, categories);
    this.#from = from ?? Number.NEGATIVE_INFINITY;
    this.#to = to ?? Number.POSITIVE_INFINITY;
    this.#run = run;
  }

  /** False if no entry of the block can match. */
  mayBeIn({ from, to, ids }: Block): boolean {
    if (to < this.#from || from >= this.#to) return false;
    return ids.some(([id, mask]) => (mask & this.#mask) !== 0 && this.#isNamed(id, true));
  }

  /** Whether the record matches, apart from its text. */
  wants(bytes: Buffer, record: FoundRecord): boolean {
    const { at, severity, category, run, instance } = record;
    if (!isEntry(record) || (maskOf(severity, category) & this.#mask) === 0) return false;
    // Not so in a damaged record.
    if (!(Math.abs(at) <= MAX_TIME)) return false;
    if (at < this.#from || at >= this.#to || (this.#run !== undefined && run !== this.#run)) return false;
    if (this.#names === undefined && this.#view === undefined) return true;
    const id = idOf(bytes, record);
    return this.#isNamed(id, instance > 0) && this.#view?.allows(id, instance) !== false;
  }

  /** Whether the reader sees entries otherwise than they are stored. */
  get isViewed(): boolean {
    return this.#view !== undefined;
  }

  /** The entry as the reader sees it; undefined if the search doesn't find it there. */
  shown(entry: LogEntry): LogEntry | undefined {
    const seen = this.#view?.shown(entry) ?? entry;
    return seen === entry || seen.text.toLowerCase().includes(this.#search) ? seen : undefined;
  }

  /** Matches its own id or, for an instance `web-2`, the id of its cluster. */
  #isNamed(id: string, mayBeInstance: boolean): boolean {
    const names = this.#names;
    if (names === undefined || names.has(id)) return true;
    return mayBeInstance && names.has(id.replace(/-\d+$/, ""));
  }
}

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

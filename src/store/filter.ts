/** Which entries a query asks for: asked of a block, a record, a text, so that most is never looked at. */
import { CATEGORIES, type LogQuery, SEVERITIES } from "../contract/records.ts";
import type { Block } from "./block.ts";
import { Needle } from "./needle.ts";
import { type Found, idOf, isEntry, maskOf } from "./record.ts";

/** `run`: only of this run. */
export type Wanted = Pick<LogQuery, "processes" | "severity" | "categories" | "from" | "to" | "search"> & { readonly run?: number };

export class Filter {
  readonly needle: Needle | undefined;
  readonly #names: ReadonlySet<string> | undefined;
  readonly #mask: number;
  readonly #from: number;
  readonly #to: number;
  readonly #run: number | undefined;

  constructor({ processes = [], severity, categories, from, to, search, run }: Wanted) {
    this.needle = search === undefined || search === "" ? undefined : new Needle(search);
    this.#names = processes.length === 0 ? undefined : new Set(processes);
    this.#mask = masksOf(severity, categories);
    this.#from = from ?? Number.NEGATIVE_INFINITY;
    this.#to = to ?? Number.POSITIVE_INFINITY;
    this.#run = run;
  }

  /** False: nothing in there is wanted. */
  mayBeIn({ from, to, ids }: Block): boolean {
    if (to < this.#from || from >= this.#to) return false;
    return ids.some(([id, mask]) => (mask & this.#mask) !== 0 && this.#isNamed(id, true));
  }

  /** But for its text. */
  wants(bytes: Buffer, record: Found): boolean {
    const { at, severity, category, run, instance } = record;
    if (!isEntry(record) || (maskOf(severity, category) & this.#mask) === 0) return false;
    if (at < this.#from || at >= this.#to || (this.#run !== undefined && run !== this.#run)) return false;
    return this.#names === undefined || this.#isNamed(idOf(bytes, record), instance > 0);
  }

  /** By its own id or, for an instance `web-2`, by that of its cluster. */
  #isNamed(id: string, mayBeInstance: boolean): boolean {
    const names = this.#names;
    if (names === undefined || names.has(id)) return true;
    return mayBeInstance && names.has(id.replace(/-\d+$/, ""));
  }
}

function masksOf(severity: LogQuery["severity"], categories: LogQuery["categories"]): number {
  const least = severity === undefined ? 0 : SEVERITIES.indexOf(severity);
  const wanted = categories === undefined || categories.length === 0 ? CATEGORIES : categories;
  let mask = 0;
  for (let level = least; level < SEVERITIES.length; level += 1)
    for (const category of wanted) mask |= maskOf(level, CATEGORIES.indexOf(category));
  return mask;
}

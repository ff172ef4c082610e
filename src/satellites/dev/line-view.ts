/** The lines of all processes: as they come, or those that were asked for; on a terminal above a line of states and keys. */
import { LogFormatter } from "../../client/connection/log-format.ts";
import { printableLine } from "../../core/base/printable.ts";
import type { LogEntry } from "../../core/contract/records.ts";
import { asCalled } from "../../core/os/called-as.ts";

/** Entries that are shown again when the filter changes. */
const KEPT = 2_000;
/** Longer texts are kept without their rest. Characters. */
const KEPT_TEXT = 4_000;
/** Last lines of a process that has failed. */
const LAST_LINES = 5;
/** The last lines of a run come within this time of its end. Milliseconds. */
const LAST_LINES_MS = 300;
/** Size of a terminal that doesn't tell. */
const USUAL = { columns: 80, rows: 24 } as const;

/** What the view writes to: a terminal, or something else. */
type ViewOutput = {
  readonly columns?: number;
  readonly rows?: number;
  readonly writableNeedDrain?: boolean;
  /** False: the reader is slower, and `drain` follows. */
  readonly write: (text: string) => boolean;
};

/** A line that is edited below the others. */
type EditedLine = { readonly write: (lines: string) => Promise<void> };

type LineViewOptions = {
  readonly output: ViewOutput;
  readonly colors: boolean;
  /** With a last line of states and keys. */
  readonly hasFooter: boolean;
  /** The reader is slower: nothing more should come until it has read. */
  readonly onFull: () => void;
};

export class LineView {
  readonly #options: LineViewOptions;
  readonly #lines: LogFormatter;
  readonly #kept: LogEntry[] = [];
  #coming: LogEntry[] = [];
  #isScheduled = false;
  /** Ends whose last lines may still come. */
  readonly #ends = new Map<LogEntry, NodeJS.Timeout>();
  #ids: ReadonlySet<string> = new Set();
  #isErrors = false;
  #footer = "";
  /** In place of the footer. */
  #edited: EditedLine | undefined;
  /** Nothing is written: another program has the terminal. */
  #isAway = false;
  /** Entries that were dropped meanwhile. */
  #missed = 0;

  constructor(options: LineViewOptions) {
    this.#options = options;
    this.#lines = new LogFormatter(options.colors, options.hasFooter, false);
  }

  /** Room for these ids in front of the lines. */
  reserve(ids: readonly string[]): void {
    this.#lines.reserve(ids);
  }

  add(entry: LogEntry): void {
    this.#coming.push(entry);
    if (this.#coming.length > 2 * KEPT && this.#isAway) this.#missed += this.#coming.splice(0, KEPT).length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** A line of procman's own. */
  note(text: string, severity: LogEntry["severity"] = "info"): void {
    this.add({ time: new Date().toISOString(), severity, category: "service", text: asCalled(text) });
  }

  /** Ids of the processes whose lines are shown from now on; none: all. */
  show(ids: readonly string[]): void {
    this.#ids = new Set(ids);
  }

  /** The same, also for the lines that are on the screen. */
  filter(ids: readonly string[]): void {
    this.show(ids);
    this.#again();
  }

  /** Shows errors and warnings alone, or all lines again. */
  toggleErrors(): void {
    this.#isErrors = !this.#isErrors;
    this.#again();
  }

  /** What the filter is, for the footer; empty: there is none. */
  get filterText(): string {
    const ids = this.#ids.size === 0 ? "" : `only ${[...this.#ids].join(" ")}`;
    return [ids, this.#isErrors ? "only errors" : ""].filter(Boolean).join(", ");
  }

  /** An empty line: what follows is new. */
  mark(): void {
    this.flush();
    this.#write("\n");
  }

  redraw(): void {
    this.#write("");
  }

  clear(): void {
    this.#kept.length = 0;
    this.#write("\u001b[2J\u001b[3J\u001b[H");
  }

  /** The last line. Never wider than the terminal, or it couldn't be cleared. */
  footer(text: string): void {
    if (text === this.#footer) return;
    this.#footer = text;
    this.#write("");
  }

  /** The last line is edited, until this is called with undefined. */
  edit(open: (() => EditedLine) | undefined): void {
    this.flush();
    if (open !== undefined) this.#write("", "");
    this.#edited = open?.();
    if (open === undefined) this.#write("");
  }

  /** Between `leave` and `enter` lines are kept, and written later. */
  leave(): void {
    this.flush();
    this.#write("", "");
    this.#isAway = true;
  }

  enter(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    if (this.#missed > 0) this.note(`${this.#missed} lines are not shown; "procman logs" has them`, "warn");
    this.#missed = 0;
    this.#write("");
    this.flush();
  }

  /** Writes what has come. Two pipes bring the lines: their times say the order. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#isAway) return;
    const entries = this.#coming;
    this.#coming = [];
    entries.sort((one, other) => Number(one.time > other.time) - Number(one.time < other.time));
    for (const entry of entries) this.#keep(entry);
    const text = this.#textOf(entries);
    if (text !== "") this.#write(text);
  }

  /** Nothing comes any more. */
  end(): void {
    this.flush();
    for (const end of this.#ends.keys()) this.#showLast(end);
    this.flush();
    this.#write("", "");
  }

  #keep(whole: LogEntry): void {
    const { text } = whole;
    const entry = text.length > KEPT_TEXT ? { ...whole, text: `${text.slice(0, KEPT_TEXT)} …` } : whole;
    this.#kept.push(entry);
    if (this.#kept.length > 2 * KEPT) this.#kept.splice(0, this.#kept.length - KEPT);
    if (entry.category !== "lifecycle" || entry.severity !== "error") return;
    this.#ends.set(
      entry,
      setTimeout(() => this.#showLast(entry), LAST_LINES_MS),
    );
  }

  /** The last lines of a run that has failed, unless they stand right above or below. */
  #showLast(end: LogEntry): void {
    clearTimeout(this.#ends.get(end));
    this.#ends.delete(end);
    const last = lastLines(this.#kept, end);
    if (last.length === 0 || !this.#includes(end)) return;
    const { process: id = "" } = end;
    this.note(`last lines of ${id}:`, "error");
    for (const { text, category, severity } of last)
      this.add({ time: new Date().toISOString(), process: id, severity, category, text });
  }

  #includes({ process: id, instance, severity }: LogEntry): boolean {
    if (this.#isErrors && severity !== "error" && severity !== "warn") return false;
    return this.#ids.size === 0 || id === undefined || this.#ids.has(ownerOf({ id, instance }));
  }

  #textOf(entries: readonly LogEntry[]): string {
    return entries
      .filter((entry) => this.#includes(entry))
      .map((entry) => this.#lines.line(entry))
      .join("");
  }

  /** A screen with the last lines that the filter lets through. */
  #again(): void {
    this.flush();
    const { rows = 0 } = this.#options.output;
    const shown = this.#kept.filter((entry) => this.#includes(entry)).slice(-Math.max(1, (rows || USUAL.rows) - 2));
    this.#write(`\u001b[2J\u001b[H${this.#textOf(shown)}`);
  }

  #write(text: string, footer = this.#footerText()): void {
    if (this.#isAway) return;
    const { hasFooter, output, onFull } = this.#options;
    if (this.#edited !== undefined) {
      if (text !== "") void this.#edited.write(text);
      if (output.writableNeedDrain === true) onFull();
      return;
    }
    const written = hasFooter ? `\r\u001b[J${text}${footer}` : text;
    if (written !== "" && !output.write(written)) onFull();
  }

  #footerText(): string {
    const { columns = 0 } = this.#options.output;
    const text = printableLine(this.#footer).slice(0, (columns || USUAL.columns) - 1);
    return this.#options.colors ? `\u001b[7m${text}\u001b[0m` : text;
  }
}

/** Id of the process or, for an instance, of its cluster. */
export function ownerOf({ id, instance }: { readonly id: string; readonly instance?: number | undefined }): string {
  return instance === undefined ? id : id.slice(0, -`-${instance}`.length);
}

/** The last lines that the run of this end has written; none, if they stand together with that end. */
function lastLines(kept: readonly LogEntry[], end: LogEntry): readonly LogEntry[] {
  const isOwn = ({ process: id, run, category }: LogEntry): boolean =>
    id === end.process && run === end.run && (category === "stdout" || category === "stderr");
  const last = kept.filter(isOwn).slice(-LAST_LINES);
  const places = [end, ...last].map((entry) => kept.indexOf(entry));
  const between = kept.slice(Math.max(0, Math.min(...places)), Math.max(...places));
  return between.every((entry) => entry.process === end.process) ? [] : last;
}

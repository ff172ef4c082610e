/** Formats log entries like the console: time, process and text. */
import { printable, printableOutput } from "../../core/base/printable.ts";
import { hostStamp } from "../../core/base/time-stamp.ts";
import { prettyLine } from "../../core/contract/pretty-line.ts";
import type { LogEntry } from "../../core/contract/records.ts";

/** Cyan, green, blue, magenta and their bright variants; yellow and red are for warnings and errors. */
const PALETTE = [36, 32, 34, 35, 96, 92, 94, 95] as const;
const SEVERITY = { debug: 2, info: 2, warn: 33, error: 31 } as const;
export const OWN_ID = "procman";
const MAX_PAD = 20;

export class LogFormatter {
  readonly #colors: boolean;
  readonly #isPretty: boolean;
  readonly #hasTime: boolean;
  #width: number = OWN_ID.length;

  /** `isPretty`: lines of JSON are shown as `level message key=value`. */
  constructor(colors: boolean, isPretty = false, hasTime = true) {
    this.#colors = colors;
    this.#isPretty = isPretty;
    this.#hasTime = hasTime;
  }

  /** Reserves room for these ids in front of the lines. */
  reserve(ids: readonly string[]): void {
    for (const id of ids) this.#width = Math.min(MAX_PAD, Math.max(this.#width, id.length));
  }

  /** The formatted entry, with a line end; standard error is marked as in log files. */
  line(entry: LogEntry): string {
    const { process: id = OWN_ID, time, category, severity } = entry;
    this.reserve([id]);
    const head = `${this.#hasTime ? `${hostStamp(Date.parse(time))} ` : ""}${id.padEnd(this.#width)} `;
    const color = isOutput(entry) ? colorOf(id) : SEVERITY[severity];
    const mark = category === "stderr" ? this.#paint(SEVERITY.error, "! ") : this.#paint(color, "| ");
    return `${this.#paint(color, head)}${mark}${this.#text(entry, head.length)}\n`;
  }

  /** The same without time, id and mark, for a reader who sees one process; what it didn't write begins with `procman: `. */
  bare(entry: LogEntry): string {
    const sign = isOutput(entry) ? "" : this.#paint(SEVERITY[entry.severity], `${OWN_ID}: `);
    return `${sign}${this.#text(entry, 0)}\n`;
  }

  #text(entry: LogEntry, indent: number): string {
    const { text, severity } = entry;
    if (!isOutput(entry)) return this.#paint(SEVERITY[severity], this.#printable(text, false, indent));
    const pretty = this.#isPretty ? prettyLine(text, severity, this.#colors) : undefined;
    return this.#closed(this.#printable(pretty ?? text, true, indent));
  }

  /** A gap in the output, if the reader was too slow. */
  gap(bytes: number): string {
    return `${this.#paint(SEVERITY.warn, `… ${bytes} bytes are missing here: they were written faster than they were read`)}\n`;
  }

  #paint(color: number, text: string): string {
    return this.#colors ? `\u001b[${color}m${text}\u001b[0m` : text;
  }

  /** Further lines of the text are indented: they can't be taken for entries. */
  #printable(text: string, hasColors: boolean, indent: number): string {
    const shown = hasColors ? printableOutput(text, this.#colors) : printable(text);
    return shown.replaceAll("\n", `\n${" ".repeat(indent)}│ `);
  }

  /** Resets the colors that a line may leave on. */
  #closed(text: string): string {
    return this.#colors ? `${text}\u001b[0m` : text;
  }
}

/** The program has written it. */
function isOutput({ category }: LogEntry): boolean {
  return category === "stdout" || category === "stderr";
}

/** The same color as on procman's console. */
function colorOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return PALETTE[hash % PALETTE.length] ?? 36;
}

/** Formats log entries like the console: time, process and text. */
import { printable, printableOutput } from "../base/printable.ts";
import type { LogEntry } from "../contract/records.ts";

/** Cyan, green, blue, magenta and their bright variants; yellow and red are for warnings and errors. */
const PALETTE = [36, 32, 34, 35, 96, 92, 94, 95] as const;
const SEVERITY = { debug: 2, info: 2, warn: 33, error: 31 } as const;
const OWN_ID = "procman";
const MAX_PAD = 20;

export class LogFormatter {
  readonly #colors: boolean;
  readonly #isRaw: boolean;
  #width: number = OWN_ID.length;

  /** `isRaw`: control characters are written as they are. */
  constructor(colors: boolean, isRaw = false) {
    this.#colors = colors;
    this.#isRaw = isRaw;
  }

  /** Reserves room for the ids in front of the lines. */
  reserve(entries: readonly LogEntry[]): void {
    for (const { process: id = OWN_ID } of entries) this.#width = Math.min(MAX_PAD, Math.max(this.#width, id.length));
  }

  /** The formatted entry, with a line end. */
  line(entry: LogEntry): string {
    this.reserve([entry]);
    const { process: id = OWN_ID, time, text, category, severity } = entry;
    const head = `${time} ${id.padEnd(this.#width)} | `;
    const isOutput = category === "stdout" || category === "stderr";
    const color = isOutput ? colorOf(id) : SEVERITY[severity];
    const shown = this.#isRaw ? text : this.#printable(text, isOutput, head.length - 2);
    return `${this.#paint(color, head)}${isOutput ? this.#closed(shown) : this.#paint(color, shown)}\n`;
  }

  /** A gap in the output, if the reader was too slow. */
  gap(bytes: number): string {
    return `${this.#paint(SEVERITY.warn, `… ${bytes} bytes are missing here: they were written faster than they were read`)}\n`;
  }

  #paint(color: number, text: string): string {
    return this.#colors ? `\u001b[${color}m${text}\u001b[0m` : text;
  }

  /** Further lines of the text are indented: they can't be taken for entries. */
  #printable(text: string, isOutput: boolean, indent: number): string {
    const shown = isOutput ? printableOutput(text, this.#colors) : printable(text);
    return shown.replaceAll("\n", `\n${" ".repeat(indent)}│ `);
  }

  /** Resets the colours that a line may leave on. */
  #closed(text: string): string {
    return this.#colors ? `${text}\u001b[0m` : text;
  }
}

/** The same colour as on procman's console. */
function colorOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return PALETTE[hash % PALETTE.length] ?? 36;
}

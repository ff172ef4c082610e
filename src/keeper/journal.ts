/** What a later keeper must know, as lines of JSON appended to one file: a torn last line is left out, the rest stands. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { EndReport, Running } from "../contract/keeper-protocol.ts";
import type { Capture } from "../contract/logger-protocol.ts";
import { bootId } from "../os/process-stat.ts";
import type { LoggerProcess } from "./former-logger.ts";

export type Entry =
  | { readonly t: "run"; readonly record: Running }
  | ({ readonly t: "capture"; readonly key: string } & CaptureRecord)
  | { readonly t: "end"; readonly record: EndReport }
  | { readonly t: "ack"; readonly slot: string; readonly run: number }
  /** All output of the run is written: its FIFOs are free. */
  | { readonly t: "drained"; readonly key: string }
  | ({ readonly t: "logger" } & LoggerProcess)
  /** "": it is forgotten. */
  | { readonly t: "note"; readonly id: string; readonly note: string };

/** Output of a run that may not all be written yet, whether the run lives or not. */
export type CaptureRecord = { readonly fifos: number; readonly capture: Capture };

/** All that the entries add up to. */
export type Books = {
  readonly running: Map<string, Running>;
  readonly ended: Map<string, EndReport>;
  readonly captures: Map<string, CaptureRecord>;
  readonly notes: Map<string, string>;
  /** The latest one. */
  logger?: LoggerProcess;
};

/** The file is written anew once it is this large and most of it is out of date. Bytes. */
const COMPACT_BYTES = 1 << 20;

export function keyOf({ slot, run }: { readonly slot: string; readonly run: number }): string {
  return `${slot}#${run}`;
}

export class Journal {
  readonly books: Books = { running: new Map(), ended: new Map(), captures: new Map(), notes: new Map() };
  readonly #path: string;
  #fd: number;
  #size = 0;
  #limit = COMPACT_BYTES;
  #lines = "";
  #problem: string | undefined;
  readonly #report: (problem: string) => void;

  constructor(path: string, report: (problem: string) => void) {
    this.#path = path;
    this.#report = report;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (existsSync(path)) for (const entry of entriesOf(readFileSync(path, "utf8"))) this.#apply(entry);
    this.#fd = this.#rewrite();
  }

  /** Known at once; on disk with the next `flush`. */
  add(entry: Entry): void {
    this.#apply(entry);
    this.#lines += `${JSON.stringify(entry)}\n`;
  }

  /** A full disk costs nothing but safety meanwhile: what could not be written is tried again with the next flush. */
  flush(): void {
    if (this.#lines === "") return;
    try {
      if (this.#size >= this.#limit) this.#compact();
      else this.#append();
      this.#healthy(undefined);
    } catch (error) {
      // Written anew from the books as soon as that is possible: nothing piles up here.
      this.#size = Number.POSITIVE_INFINITY;
      this.#lines = "\n";
      this.#healthy(error instanceof Error ? error.message : String(error));
    }
  }

  remove(): void {
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }

  #append(): void {
    const bytes = Buffer.from(this.#lines);
    const written = writeSync(this.#fd, bytes);
    this.#size += written;
    if (written < bytes.length) throw new Error("ENOSPC: the journal was written in part");
    this.#lines = "";
  }

  #compact(): void {
    const before = this.#fd;
    this.#fd = this.#rewrite();
    this.#lines = "";
    closeSync(before);
  }

  #healthy(problem: string | undefined): void {
    if (problem !== this.#problem && problem !== undefined)
      this.#report(`Cannot write ${this.#path}: ${problem}; procman goes on, but can't be killed safely until it can be written again`);
    this.#problem = problem;
  }

  #apply(entry: Entry): void {
    const { running, ended, captures, notes } = this.books;
    switch (entry.t) {
      case "run":
        return void running.set(keyOf(entry.record), entry.record);
      case "end": {
        running.delete(keyOf(entry.record));
        return void ended.set(keyOf(entry.record), entry.record);
      }
      case "ack":
        return void ended.delete(keyOf(entry));
      case "capture":
        return void captures.set(entry.key, { fifos: entry.fifos, capture: entry.capture });
      case "drained":
        return void captures.delete(entry.key);
      case "logger":
        this.books.logger = { pid: entry.pid, startTime: entry.startTime };
        return;
      case "note":
        return void (entry.note === "" ? notes.delete(entry.id) : notes.set(entry.id, entry.note));
      default:
        return entry satisfies never;
    }
  }

  #rewrite(): number {
    const { running, ended, captures, notes, logger } = this.books;
    const entries: readonly Entry[] = [
      ...(logger === undefined ? [] : [{ t: "logger", ...logger } as const]),
      ...[...captures].map(([key, capture]) => ({ t: "capture", key, ...capture }) as const),
      ...[...running.values()].map((record) => ({ t: "run", record }) as const),
      ...[...ended.values()].map((record) => ({ t: "end", record }) as const),
      ...[...notes].map(([id, note]) => ({ t: "note", id, note }) as const),
    ];
    const text = [bootLine(), ...entries.map((entry) => JSON.stringify(entry)), ""].join("\n");
    const whole = `${this.#path}.tmp`;
    writeFileSync(whole, text, { mode: 0o600 });
    renameSync(whole, this.#path);
    this.#size = text.length;
    this.#limit = COMPACT_BYTES + 2 * text.length;
    return openSync(this.#path, "a", 0o600);
  }
}

/** First line of a journal: nothing of another boot lives on, and its times mean nothing now. */
function bootLine(): string {
  return JSON.stringify({ boot: bootId() });
}

function entriesOf(text: string): readonly Entry[] {
  const [boot, ...lines] = text.split("\n");
  return boot === bootLine() ? lines.flatMap(entryOf) : [];
}

function entryOf(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}

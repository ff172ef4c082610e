/** Follows the keeper's journal: the start and the end of each run, as procman recorded them, and the notes of the service. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";

const POLL_MS = 20;

export type JournalRun = {
  readonly slot: string;
  readonly run: number;
  readonly pid: number;
  readonly startTime?: string;
};

export type JournalEnd = {
  readonly slot: string;
  readonly run: number;
  readonly at: number;
  readonly pid?: number;
  readonly code?: number | null;
  readonly signal?: string | null;
  readonly unknown?: boolean;
};

export class JournalTail {
  /** By slot and run number, like `web#3`. */
  readonly runs = new Map<string, JournalRun>();
  readonly ends = new Map<string, JournalEnd>();
  /** By process: all notes of the service, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows what the service notes.
  readonly notes = new Map<string, any[]>();
  readonly #path: string;
  readonly #timer: NodeJS.Timeout;
  #file: number | undefined;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
    this.#timer = setInterval(() => this.read(), POLL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.read();
    this.#close();
  }

  /** Reads new entries; the journal may have been replaced by a shorter one meanwhile. */
  read(): void {
    this.#takeNew();
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now === undefined || (this.#file !== undefined && fstatSync(this.#file).ino === now.ino)) return;
    // Entries written between the last read and the replacement.
    this.#takeNew();
    this.#close();
    this.#rest = "";
    if (existsSync(this.#path)) this.#file = openSync(this.#path, "r");
    this.#takeNew();
  }

  #close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #takeNew(): void {
    if (this.#file === undefined) return;
    const chunk = Buffer.allocUnsafe(1 << 16);
    for (let bytes = readSync(this.#file, chunk); bytes > 0; bytes = readSync(this.#file, chunk)) {
      const parts = (this.#rest + chunk.toString("latin1", 0, bytes)).split("\n");
      this.#rest = parts.pop() ?? "";
      for (const line of parts) this.#takeEntry(line);
    }
  }

  #takeEntry(line: string): void {
    let entry: {
      readonly t: string;
      readonly id: string;
      readonly note: string;
      readonly record: JournalRun & JournalEnd;
    };
    try {
      entry = JSON.parse(line);
    } catch {
      // Torn by the death of its writer: the next keeper ignores it, too.
      return;
    }
    const { t, record, id, note } = entry;
    if (t === "run") this.runs.set(`${record.slot}#${record.run}`, record);
    else if (t === "end") this.ends.set(`${record.slot}#${record.run}`, record);
    else if (t === "note" && note === "") this.#forget(id);
    else if (t === "note") this.notes.set(id, [...(this.notes.get(id) ?? []), JSON.parse(note)]);
  }

  /** The process was removed: the runs of one that gets its id later are numbered from 1 again. */
  #forget(id: string): void {
    for (const [key, { slot }] of this.runs) if (slot.replace(/:\d+$/, "") === id) this.runs.delete(key);
  }
}

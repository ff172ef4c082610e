// Reads along in the keeper's journal: how each run ended, as procman knows it.
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";

const LOOK_MS = 20;

/**
 * @typedef {{ slot: string, run: number, pid: number }} RunRecord
 * @typedef {{ slot: string, run: number, at: number, pid?: number, code?: number | null, signal?: string | null, unknown?: boolean }} EndRecord
 */

export class JournalTail {
  /** By slot and run number, as `web#3`. @type {Map<string, RunRecord>} */
  runs = new Map();
  /** @type {Map<string, EndRecord>} */
  ends = new Map();
  /** All that a service noted of a process, in order. @type {Map<string, any[]>} */
  notes = new Map();
  #path;
  #file;
  #rest = "";
  #timer;

  constructor(path) {
    this.#path = path;
    this.#timer = setInterval(() => this.read(), LOOK_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.read();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** What is new; the journal may have been replaced by a shorter one meanwhile. */
  read() {
    if (this.#file !== undefined) this.#take();
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now === undefined || (this.#file !== undefined && fstatSync(this.#file).ino === now.ino)) return;
    if (this.#file !== undefined) {
      // Whatever was written between the last look and the replacement.
      this.#take();
      closeSync(this.#file);
    }
    this.#rest = "";
    this.#file = existsSync(this.#path) ? openSync(this.#path, "r") : undefined;
    if (this.#file !== undefined) this.#take();
  }

  #take() {
    const chunk = Buffer.allocUnsafe(1 << 16);
    for (let bytes = readSync(this.#file, chunk); bytes > 0; bytes = readSync(this.#file, chunk)) {
      const parts = (this.#rest + chunk.latin1Slice(0, bytes)).split("\n");
      this.#rest = parts.pop() ?? "";
      for (const line of parts) this.#entry(line);
    }
  }

  #entry(line) {
    let entry;
    try {
      entry = JSON.parse(line);
    } catch {
      // Torn by the death of its writer: so would the next keeper leave it out.
      return;
    }
    const { t, record, id, note } = entry;
    if (t === "run") this.runs.set(`${record.slot}#${record.run}`, record);
    else if (t === "end") this.ends.set(`${record.slot}#${record.run}`, record);
    else if (t === "note" && note !== "") this.notes.set(id, [...(this.notes.get(id) ?? []), JSON.parse(note)]);
  }
}

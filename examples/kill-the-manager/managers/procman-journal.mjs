// Follows the keeper's journal: how each run ended, as procman recorded it.
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs";

const POLL_MS = 20;

/**
 * @typedef {{ slot: string, run: number, pid: number, startTime?: string }} RunRecord
 * @typedef {{ slot: string, run: number, at: number, pid?: number, code?: number | null, signal?: string | null, unknown?: boolean }} EndRecord
 */

export class JournalTail {
  /** By slot and run number, like `web#3`. @type {Map<string, RunRecord>} */
  runs = new Map();
  /** @type {Map<string, EndRecord>} */
  ends = new Map();
  /** By process: all notes of the service, in order. @type {Map<string, any[]>} */
  notes = new Map();
  #path;
  #file;
  #rest = "";
  #timer;

  constructor(path) {
    this.#path = path;
    this.#timer = setInterval(() => this.read(), POLL_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.read();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Reads new entries; the journal may have been replaced by a shorter one meanwhile. */
  read() {
    if (this.#file !== undefined) this.#take();
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now === undefined || (this.#file !== undefined && fstatSync(this.#file).ino === now.ino)) return;
    if (this.#file !== undefined) {
      // Entries written between the last read and the replacement.
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
  #forget(id) {
    for (const [key, { slot }] of this.runs) if (slot.replace(/:\d+$/, "") === id) this.runs.delete(key);
  }
}

/** The second copy of procman's own entries: the output of processes can't push them out of the store. */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { statIfSeen } from "../os/files.ts";
import { idOf, recordAt } from "./record.ts";
import { namesIn } from "./segment-files.ts";

/** Own entries that the store has got since a time, to tell which entries of a killed writer it lacks. */
export class StoredEntries {
  readonly #counts = new Map<string, number>();

  constructor(folder: string, since: number) {
    for (const path of namesIn(folder).flatMap((name) => (name.endsWith(".own") ? [join(folder, name)] : [])))
      if ((statIfSeen(path)?.mtimeMs ?? 0) > since - FILE_TIME_MS) this.#count(readFileSync(path), since);
  }

  /** Each of several that are equal counts once. */
  take({ id = "", run = 0, text }: { readonly id?: string; readonly run?: number; readonly text: string }): boolean {
    const key = keyOf(id, run, text);
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count - 1);
    return count > 0;
  }

  #count(bytes: Buffer, since: number): void {
    for (let record = recordAt(bytes, 0); record !== undefined; record = recordAt(bytes, record.end)) {
      // Its time isn't earlier than that of the entry as it was sent.
      if (record.at < since) continue;
      const key = keyOf(idOf(bytes, record), record.run, bytes.toString("utf8", record.dataStart, record.end - 1));
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }
}

/** File times lag by some milliseconds. */
const FILE_TIME_MS = 1_000;

function keyOf(id: string, run: number, text: string): string {
  return `${id} ${run} ${text}`;
}

export class OwnEntries {
  readonly #path: string;
  #parts: Buffer[] = [];
  /** undefined: not created yet; -1: it can't be written, and the entries are in the segment alone. */
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The caller may reuse the buffers. */
  add(head: Buffer, text: Buffer): void {
    if (this.#fd !== -1) this.#parts.push(Buffer.concat([head, text]));
  }

  flush(): void {
    if (this.#parts.length === 0) return;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    try {
      this.#fd ??= openSync(this.#path, "ax", 0o600);
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    } catch {
      // A torn record ends the file; the segment itself reports that the disk is full.
      this.close();
      this.#fd = -1;
    }
  }

  close(): void {
    if (this.#fd !== undefined && this.#fd !== -1) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

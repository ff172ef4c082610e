/** The second copy of procman's own entries: the output of processes can't push them out of the store. */
import { closeSync, openSync, writeSync } from "node:fs";

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

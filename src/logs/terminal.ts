/** procman's own standard output and error. A terminal that stands still never stops the logger. */
import { write } from "node:fs";
import { errnoOf } from "./errno.ts";
import { Gate } from "./gate.ts";

/** Above this, the streams that show on the console wait. */
const FULL_BYTES = 1024 * 1024;
/** The same terminal gets everything; a message of procman's own waits in any case up to here. */
const SAY_BYTES = 2 * FULL_BYTES;
const BUSY_MS = 10;

type Piece = { readonly fd: number; readonly bytes: Buffer };

export class Terminal {
  /** Closed while more waits than the terminal takes. */
  readonly gate = new Gate();
  readonly #queue: Piece[] = [];
  #queued = 0;
  #writing = false;
  /** Nobody is at the other end any more. */
  #dead = false;
  #whenEmpty: (() => void) | undefined;

  get isBusy(): boolean {
    return this.#writing;
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** Not even procman's own messages have room. */
  get isOverfull(): boolean {
    return this.#queued > SAY_BYTES;
  }

  write(fd: number, lines: Buffer): void {
    if (this.#dead) return;
    this.#queue.push({ fd, bytes: Buffer.from(lines) });
    this.#queued += lines.length;
    if (this.#queued > FULL_BYTES) this.gate.set(true);
    if (!this.#writing) this.#next();
  }

  /** Resolves when all is written, or after `ms`. */
  flush(ms: number): Promise<void> {
    if (!this.#writing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#whenEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #next(): void {
    const first = this.#queue.shift();
    this.#writing = first !== undefined;
    if (first) this.#write(first);
    else this.#whenEmpty?.();
  }

  /** In a thread of the pool: a blocked terminal blocks only that thread. */
  #write({ fd, bytes }: Piece): void {
    write(fd, bytes, 0, bytes.length, null, (error, written) => {
      if (!error) this.#wrote({ fd, bytes }, written);
      else if (errnoOf(error) === "EAGAIN") setTimeout(() => this.#write({ fd, bytes }), BUSY_MS);
      else this.#die();
    });
  }

  #wrote({ fd, bytes }: Piece, written: number): void {
    this.#queued -= written;
    if (written < bytes.length) {
      this.#write({ fd, bytes: bytes.subarray(written) });
      return;
    }
    this.#next();
    if (this.#queued <= FULL_BYTES / 2) this.gate.set(false);
  }

  /** The terminal is gone (EPIPE, EIO): for good, nothing else waits for it. */
  #die(): void {
    this.#dead = true;
    this.#queue.length = 0;
    this.#queued = 0;
    this.#next();
    this.gate.set(false);
  }
}

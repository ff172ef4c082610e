/** procman's own standard output and error. A stopped terminal never blocks the logger. */
import { write } from "node:fs";
import { errnoOf } from "../base/errors.ts";
import { Backpressure } from "./backpressure.ts";

/** Above this size of the queue, streams that are shown on the console wait. */
const FULL_BYTES = 1024 * 1024;
/** procman's own messages are queued up to this size. */
const SAY_BYTES = 2 * FULL_BYTES;
const BUSY_MS = 10;

type OutputPiece = { readonly fd: number; readonly bytes: Buffer };

export class TerminalWriter {
  /** Closed while more is queued than the terminal takes. */
  readonly backpressure = new Backpressure();
  readonly #queue: OutputPiece[] = [];
  #queued = 0;
  #writing = false;
  /** Descriptors whose other end was closed. */
  readonly #dead = new Set<number>();
  #whenEmpty: (() => void) | undefined;

  get isBusy(): boolean {
    return this.#writing;
  }

  isDead(fd: number): boolean {
    return this.#dead.has(fd);
  }

  /** Whether there is no room for procman's own messages either. */
  get isOverfull(): boolean {
    return this.#queued > SAY_BYTES;
  }

  write(fd: number, lines: Buffer): void {
    if (this.#dead.has(fd)) return;
    this.#queue.push({ fd, bytes: Buffer.from(lines) });
    this.#queued += lines.length;
    if (this.#queued > FULL_BYTES) this.backpressure.set(true);
    if (!this.#writing) this.#next();
  }

  /** Resolves when everything is written, or after `ms`. */
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
  #write({ fd, bytes }: OutputPiece): void {
    write(fd, bytes, 0, bytes.length, null, (error, written) => {
      if (!error) this.#wrote({ fd, bytes }, written);
      else if (errnoOf(error) === "EAGAIN") setTimeout(() => this.#write({ fd, bytes }), BUSY_MS);
      else this.#drop(fd, bytes.length);
    });
  }

  #wrote({ fd, bytes }: OutputPiece, written: number): void {
    this.#queued -= written;
    if (written < bytes.length) {
      this.#write({ fd, bytes: bytes.subarray(written) });
      return;
    }
    this.#next();
    if (this.#queued <= FULL_BYTES / 2) this.backpressure.set(false);
  }

  /** The reader is gone (EPIPE, EIO): drops what is queued for it, so that nothing else waits. */
  #drop(fd: number, rest: number): void {
    this.#dead.add(fd);
    const kept = this.#queue.filter((piece) => piece.fd !== fd);
    this.#queued -= rest + this.#queue.reduce((sum, piece) => sum + (piece.fd === fd ? piece.bytes.length : 0), 0);
    this.#queue.splice(0, this.#queue.length, ...kept);
    this.#next();
    if (this.#queued <= FULL_BYTES / 2) this.backpressure.set(false);
  }
}

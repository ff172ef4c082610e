/** Lines on procman's own standard output and error. A terminal that stands still never stops the logger. */
import { write } from "node:fs";
import type { ConsoleStyle, ToLogger } from "../contract/logger-protocol.ts";
import type { Look } from "./decorate.ts";
import { binary, decorate } from "./decorate.ts";
import { errnoOf } from "./errno.ts";
import { Gate } from "./gate.ts";
import { stamp } from "./stamp.ts";

export type Say = Extract<ToLogger, { t: "say" }>;

/** Above this, the streams that show on the console wait. */
const FULL_BYTES = 1024 * 1024;
/** The same terminal gets everything; a message of procman's own waits in any case up to here. */
const SAY_BYTES = 2 * FULL_BYTES;
const BUSY_MS = 10;
const MAX_PAD = 20;

const RESET = "\u001b[0m";
/** Cyan, green, blue, magenta and their bright ones; yellow and red belong to warnings and errors. */
const PALETTE = [36, 32, 34, 35, 96, 92, 94, 95] as const;
const SEVERITY = { info: 2, warn: 33, error: 31 } as const;

type Piece = { readonly fd: number; readonly bytes: Buffer };

function colorOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return PALETTE[hash % PALETTE.length] ?? 36;
}

function paint(text: string, color: number): string {
  return `\u001b[${color}m${text}${RESET}`;
}

export class Console {
  /** Closed while more waits than the terminal takes. */
  readonly gate = new Gate();
  #style: ConsoleStyle = { decorate: false, colors: false };
  #width = "procman".length;
  readonly #queue: Piece[] = [];
  #queued = 0;
  #writing = false;
  /** Nobody is at the other end any more. */
  #dead = false;
  #unsaid = 0;
  #whenEmpty: (() => void) | undefined;

  set style(style: ConsoleStyle) {
    this.#style = style;
  }

  get isBusy(): boolean {
    return this.#writing;
  }

  /** Makes room for the id in front of the lines. */
  know(id: string): void {
    this.#width = Math.min(MAX_PAD, Math.max(this.#width, id.length));
  }

  /** Whole lines of a process, for `fd` 1 or 2. */
  lines(id: string, fd: number, lines: Buffer): void {
    if (this.#dead) return;
    const before = this.#prefix(id, colorOf(id), Date.now());
    const look: Look = { before, after: this.#style.colors ? RESET : "" };
    this.#add({ fd, bytes: Buffer.from(decorate(lines, look)) });
  }

  say(message: Say): void {
    if (this.#dead) return;
    if (this.#queued > SAY_BYTES) {
      this.#unsaid += 1;
      return;
    }
    const color = SEVERITY[message.severity];
    const before = this.#prefix(message.id ?? "procman", color, message.at);
    const look = this.#style.colors ? { before: `${before}\u001b[${color}m`, after: RESET } : { before, after: "" };
    this.#add({ fd: 1, bytes: Buffer.from(decorate(Buffer.from(`${message.text}\n`), look)) });
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

  #prefix(id: string, color: number, time: number): string {
    const head = `${this.#style.decorate ? `${stamp(time)} ` : ""}${binary(id.padEnd(this.#width))} | `;
    return this.#style.colors ? paint(head, color) : head;
  }

  #add(piece: Piece): void {
    this.#queue.push(piece);
    this.#queued += piece.bytes.length;
    if (this.#queued > FULL_BYTES) this.gate.set(true);
    if (!this.#writing) this.#next();
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
    if (this.#queued > FULL_BYTES / 2) return;
    this.gate.set(false);
    const unsaid = this.#unsaid;
    this.#unsaid = 0;
    if (unsaid > 0)
      this.say({ t: "say", at: Date.now(), severity: "warn", text: `${unsaid} messages not shown: the terminal was too slow` });
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

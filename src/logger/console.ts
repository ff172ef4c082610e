/** The console output: lines of procman and its processes, on the terminal or, without a terminal, in a file. */

import { dirname } from "node:path";
import { isatty } from "node:tty";
import { printable, printableBytes } from "../base/printable.ts";
import { entryTime, stamp } from "../base/time-stamp.ts";
import type { ConsoleStyle, LoggerMessage, Rotation } from "../ipc/logger-protocol.ts";
import { makeFolder } from "../os/files.ts";
import { Backpressure } from "./backpressure.ts";
import type { LineDecoration } from "./line-splitter.ts";
import { binary, decorate } from "./line-splitter.ts";
import type { LogFiles } from "./log-files.ts";
import { TerminalWriter } from "./terminal.ts";

/** Destination of the lines. */
type ConsoleOutlet = {
  readonly backpressure: Backpressure;
  readonly isDead: boolean;
  readonly isOverfull: boolean;
  readonly write: (fd: number, lines: Buffer) => void;
  readonly release?: () => void;
};

/** Rotation of the console file: the current one and 40 MB of older ones, 10 MB each. */
const ROTATION: Rotation = { sizeBytes: 10e6, ageMs: 0, totalBytes: 40e6, gzip: true };
const MAX_PAD = 20;

const RESET = "\u001b[0m";
/** Cyan, green, blue, magenta and their bright variants; yellow and red are for warnings and errors. */
const PALETTE = [36, 32, 34, 35, 96, 92, 94, 95] as const;
const SEVERITY = { debug: 2, info: 2, warn: 33, error: 31 } as const;

/** The file is in the state folder, which only its owner may read; the first writer creates the folder. */
function makePrivate(folder: string): void {
  try {
    makeFolder(folder, 0o700);
  } catch {
    // The file can't be opened then, and this is reported.
  }
}

function colorOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return PALETTE[hash % PALETTE.length] ?? 36;
}

function paint(text: string, color: number): string {
  return `\u001b[${color}m${text}${RESET}`;
}

export class ConsoleWriter {
  /** Closed while the terminal or file can take no more. */
  readonly backpressure = new Backpressure();
  readonly #files: LogFiles;
  readonly #terminal = new TerminalWriter();
  #outlet: ConsoleOutlet = this.#terminal;
  #style: ConsoleStyle = { decorate: false, colors: false };
  #width = "procman".length;
  #dropped = 0;
  /** Time of the last line. */
  #last = 0;
  #unwatch = this.#watch();

  constructor(files: LogFiles) {
    this.#files = files;
  }

  set style(style: ConsoleStyle) {
    if (style.file !== this.#style.file) this.#move(style.file);
    this.#style = style.file === undefined ? style : { file: style.file, decorate: true, colors: false };
  }

  /** Whether a write to the terminal is in progress. */
  get isBusy(): boolean {
    return this.#terminal.isBusy;
  }

  /** Reserves room for the id in front of the lines. */
  know(id: string): void {
    this.#width = Math.min(MAX_PAD, Math.max(this.#width, id.length));
  }

  /** Whole lines of a process, for `fd` 1 or 2. */
  lines(id: string, fd: number, lines: Buffer): void {
    if (this.#outlet.isDead) return;
    const before = this.#prefix(id, colorOf(id), Date.now());
    const decoration: LineDecoration = { before, after: this.#style.colors ? RESET : "" };
    this.#outlet.write(fd, decorate(this.#isTerminal(fd) ? this.#printable(lines) : lines, decoration));
  }

  print(message: LoggerMessage): void {
    if (this.#outlet.isDead) return;
    if (this.#outlet.isOverfull) {
      this.#dropped += 1;
      return;
    }
    const color = SEVERITY[message.severity];
    const before = this.#prefix(message.id ?? "procman", color, message.at);
    const decoration = this.#style.colors ? { before: `${before}\u001b[${color}m`, after: RESET } : { before, after: "" };
    this.#outlet.write(1, decorate(Buffer.from(`${printable(message.text)}\n`), decoration));
  }

  /** Resolves when the terminal has taken everything, or after `ms`. (Files are flushed by `LogFiles`.) */
  flush(ms: number): Promise<void> {
    return this.#terminal.flush(ms);
  }

  #isTerminal(fd: number): boolean {
    return this.#outlet === this.#terminal && isatty(fd);
  }

  #printable(lines: Buffer): Buffer {
    const text = lines.toString("latin1");
    const shown = printableBytes(text, this.#style.colors);
    return shown === text ? lines : Buffer.from(shown, "latin1");
  }

  #prefix(id: string, color: number, time: number): string {
    this.#last = entryTime(time, this.#last, Date.now());
    const head = `${this.#style.decorate ? `${stamp(this.#last)} ` : ""}${binary(id.padEnd(this.#width))} | `;
    return this.#style.colors ? paint(head, color) : head;
  }

  #move(file: string | undefined): void {
    this.#unwatch();
    this.#outlet.release?.();
    this.#outlet = file === undefined ? this.#terminal : this.#fileOutlet(file);
    this.#unwatch = this.#watch();
  }

  #fileOutlet(path: string): ConsoleOutlet {
    makePrivate(dirname(path));
    const { file, release } = this.#files.share(path, "procman", ROTATION);
    return { backpressure: file.backpressure, isDead: false, isOverfull: false, write: (_fd, lines) => file.write(lines), release };
  }

  #watch(): () => void {
    const { backpressure } = this.#outlet;
    const changed = (): void => {
      this.backpressure.set(backpressure.closed);
      if (!backpressure.closed) this.#printDropped();
    };
    changed();
    return backpressure.watch(changed);
  }

  #printDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0)
      this.print({ t: "say", at: Date.now(), severity: "warn", text: `${dropped} messages not shown: the terminal was too slow` });
  }
}

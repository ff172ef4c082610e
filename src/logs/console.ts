/** The lines that procman shows: its own and those of processes, on the terminal or, where nobody sees one, in a file. */
import { dirname } from "node:path";
import type { ConsoleStyle, Rotation, Say } from "../contract/logger-protocol.ts";
import { makeFolder } from "../os/folder.ts";
import type { Look } from "./decorate.ts";
import { binary, decorate } from "./decorate.ts";
import type { Files } from "./files.ts";
import { Gate } from "./gate.ts";
import { stamp } from "./stamp.ts";
import { Terminal } from "./terminal.ts";

/** Where the lines go. */
type Outlet = {
  readonly gate: Gate;
  readonly isDead: boolean;
  readonly isOverfull: boolean;
  readonly write: (fd: number, lines: Buffer) => void;
  readonly release?: () => void;
};

/** A console file and those rotated away from it: five of 10 MB. */
const ROTATION: Rotation = { sizeBytes: 10e6, ageMs: 0, totalBytes: 40e6, gzip: true };
const MAX_PAD = 20;

const RESET = "\u001b[0m";
/** Cyan, green, blue, magenta and their bright ones; yellow and red belong to warnings and errors. */
const PALETTE = [36, 32, 34, 35, 96, 92, 94, 95] as const;
const SEVERITY = { debug: 2, info: 2, warn: 33, error: 31 } as const;

/** It is in the state folder, and as that for nobody else, whichever of those who write there comes first. */
function makePrivate(folder: string): void {
  try {
    makeFolder(folder, 0o700);
  } catch {
    // The file tells it, as it can't be opened then.
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

export class Console {
  /** Closed while the terminal or the file takes no more. */
  readonly gate = new Gate();
  readonly #files: Files;
  readonly #terminal = new Terminal();
  #outlet: Outlet = this.#terminal;
  #style: ConsoleStyle = { decorate: false, colors: false };
  #width = "procman".length;
  #unsaid = 0;
  #unwatch = this.#watch();

  constructor(files: Files) {
    this.#files = files;
  }

  set style(style: ConsoleStyle) {
    if (style.file !== this.#style.file) this.#move(style.file);
    this.#style = style.file === undefined ? style : { file: style.file, decorate: true, colors: false };
  }

  /** A write to the terminal is under way. */
  get isBusy(): boolean {
    return this.#terminal.isBusy;
  }

  /** Makes room for the id in front of the lines. */
  know(id: string): void {
    this.#width = Math.min(MAX_PAD, Math.max(this.#width, id.length));
  }

  /** Whole lines of a process, for `fd` 1 or 2. */
  lines(id: string, fd: number, lines: Buffer): void {
    if (this.#outlet.isDead) return;
    const before = this.#prefix(id, colorOf(id), Date.now());
    const look: Look = { before, after: this.#style.colors ? RESET : "" };
    this.#outlet.write(fd, decorate(lines, look));
  }

  say(message: Say): void {
    if (this.#outlet.isDead) return;
    if (this.#outlet.isOverfull) {
      this.#unsaid += 1;
      return;
    }
    const color = SEVERITY[message.severity];
    const before = this.#prefix(message.id ?? "procman", color, message.at);
    const look = this.#style.colors ? { before: `${before}\u001b[${color}m`, after: RESET } : { before, after: "" };
    this.#outlet.write(1, decorate(Buffer.from(`${message.text}\n`), look));
  }

  /** Resolves when the terminal has taken all, or after `ms`. (A file is another one's care: see `Files`.) */
  flush(ms: number): Promise<void> {
    return this.#terminal.flush(ms);
  }

  #prefix(id: string, color: number, time: number): string {
    const head = `${this.#style.decorate ? `${stamp(time)} ` : ""}${binary(id.padEnd(this.#width))} | `;
    return this.#style.colors ? paint(head, color) : head;
  }

  #move(file: string | undefined): void {
    this.#unwatch();
    this.#outlet.release?.();
    this.#outlet = file === undefined ? this.#terminal : this.#fileOutlet(file);
    this.#unwatch = this.#watch();
  }

  #fileOutlet(path: string): Outlet {
    makePrivate(dirname(path));
    const { file, release } = this.#files.share(path, "procman", ROTATION);
    return { gate: file.gate, isDead: false, isOverfull: false, write: (_fd, lines) => file.write(lines), release };
  }

  #watch(): () => void {
    const { gate } = this.#outlet;
    const changed = (): void => {
      this.gate.set(gate.closed);
      if (!gate.closed) this.#sayUnsaid();
    };
    changed();
    return gate.watch(changed);
  }

  #sayUnsaid(): void {
    const unsaid = this.#unsaid;
    this.#unsaid = 0;
    if (unsaid > 0)
      this.say({ t: "say", at: Date.now(), severity: "warn", text: `${unsaid} messages not shown: the terminal was too slow` });
  }
}

/** The console output: lines of procman and its processes, on the terminal or, without a terminal, in a file. */
import { dirname } from "node:path";
import { isatty } from "node:tty";
import { printable, printableBytes, printableJson } from "../base/printable.ts";
import { entryTime, hostStamp, stamp } from "../base/time-stamp.ts";
import { prettyLine } from "../contract/pretty-line.ts";
import { type Category, SEVERITIES, type Severity } from "../contract/records.ts";
import type { ConsoleStyle, LoggerMessage, Rotation } from "../ipc/logger-protocol.ts";
import { LineLevels } from "../log-store/level-rules.ts";
import type { RecordSource } from "../log-store/record.ts";
import { makeFolder } from "../os/files.ts";
import { OWN_MODE } from "./appender.ts";
import { Backpressure } from "./backpressure.ts";
import type { LineDecoration } from "./line-splitter.ts";
import { binary, decorate } from "./line-splitter.ts";
import type { LogFiles } from "./log-files.ts";
import { TerminalWriter } from "./terminal.ts";

/** The stream of a run that lines come from. */
export type OutputSource = RecordSource & { readonly process: string };

type LinePlace = { readonly at: number; readonly fd: number; readonly mark: "|" | "!" };

/** Destination of the lines. */
type ConsoleOutlet = {
  readonly backpressure: Backpressure;
  readonly isDead: (fd: number) => boolean;
  readonly isOverfull: boolean;
  readonly write: (fd: number, lines: Buffer) => void;
  readonly release?: () => void;
};

/** Rotation of the console file: the current one and 40 MB of older ones, 10 MB each. */
const ROTATION: Rotation = { sizeBytes: 10e6, ageMs: 0, totalBytes: 40e6, gzip: true };
const MAX_PAD = 20;
const NEWLINE = 0x0a;

/** procman's own messages. */
const MESSAGES = 2;
const RED = 31;
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

export function categoryOf({ category, id }: LoggerMessage): Category {
  return category ?? (id === undefined ? "service" : "lifecycle");
}

/** A line in the shape of a `LogEntry`, for each text of the source at this time. */
function jsonLines(time: number, { process, instance, run, category, severity: usual }: RecordSource) {
  const heads = new Map<Severity, string>();
  const headOf = (severity: Severity): string => {
    const known = heads.get(severity);
    if (known !== undefined) return known;
    const head = printableJson({ time: stamp(time), process, instance, run, severity, category }).slice(0, -1);
    heads.set(severity, head);
    return head;
  };
  return (text: string, severity = usual): string => `${headOf(severity)},"text":${printableJson(text)}}\n`;
}

/** Where each of these whole lines begins, and its newline. */
function linesIn(lines: Buffer): readonly { readonly start: number; readonly end: number }[] {
  const places: { readonly start: number; readonly end: number }[] = [];
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(NEWLINE, start);
    places.push({ start, end });
    start = end + 1;
  }
  return places;
}

export class ConsoleWriter {
  /** Closed while the terminal or file can take no more. */
  readonly backpressure = new Backpressure();
  readonly #files: LogFiles;
  readonly #terminal = new TerminalWriter();
  #outlet: ConsoleOutlet = this.#terminal;
  /** What lines say of their severity. */
  levels: LineLevels = new LineLevels();
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
    const { file, format } = style;
    this.#style = file === undefined ? style : { file, decorate: true, colors: false, ...(format && { format }) };
  }

  /** Whether a write to the terminal is in progress. */
  get isBusy(): boolean {
    return this.#terminal.isBusy;
  }

  /** Reserves room for ids of this length in front of the lines. */
  reserve(length: number): void {
    this.#width = Math.min(MAX_PAD, Math.max(this.#width, length));
  }

  /** Whole lines of a process. */
  lines(source: OutputSource, lines: Buffer): void {
    const fd = source.category === "stderr" ? 2 : 1;
    if (!this.#outlet.isDead(fd)) this.#outlet.write(fd, this.#formatted(source, fd, lines));
  }

  #formatted(source: OutputSource, fd: number, lines: Buffer): Buffer {
    const { format, prefix } = this.#style;
    const colors = this.#hasColors(fd);
    if (format === "json" && prefix !== false) return this.#objects(source, lines);
    const text = this.#isTerminal(fd) ? this.#printable(this.#pretty(source, lines, colors), colors) : lines;
    const before =
      prefix === false
        ? ""
        : this.#prefix(source.process, colorOf(source.process), { at: Date.now(), fd, mark: fd === 2 ? "!" : "|" });
    const decoration: LineDecoration = { before, after: colors ? RESET : "" };
    return before === "" && !colors ? text : decorate(text, decoration);
  }

  #objects(source: OutputSource, lines: Buffer): Buffer {
    const lineOf = jsonLines(this.#time(Date.now()), source);
    const objects = linesIn(lines).map(({ start, end }) =>
      lineOf(lines.toString("utf8", start, end), SEVERITIES[this.levels.of(lines, start, end)]),
    );
    return Buffer.from(objects.join(""));
  }

  print(message: LoggerMessage): void {
    if (this.#outlet.isDead(MESSAGES)) return;
    if (this.#outlet.isOverfull) this.#dropped += 1;
    else
      this.#outlet.write(
        MESSAGES,
        this.#style.format === "json" ? this.#jsonMessage(message) : this.#textMessage(message),
      );
  }

  #jsonMessage(message: LoggerMessage): Buffer {
    const { at, id, instance, run, severity, text } = message;
    const source = { ...(id !== undefined && { process: id }), ...(instance && { instance }), ...(run && { run }) };
    return Buffer.from(jsonLines(this.#time(at), { ...source, severity, category: categoryOf(message) })(text));
  }

  #textMessage({ severity, id = "procman", at, text }: LoggerMessage): Buffer {
    const color = SEVERITY[severity];
    const before = this.#prefix(id, color, { at, fd: MESSAGES, mark: "|" });
    const decoration = this.#hasColors(MESSAGES)
      ? { before: `${before}\u001b[${color}m`, after: RESET }
      : { before, after: "" };
    return decorate(Buffer.from(`${printable(text)}\n`), decoration);
  }

  /** Resolves when the terminal has taken everything, or after `ms`. (Files are flushed by `LogFiles`.) */
  flush(ms: number): Promise<void> {
    return this.#terminal.flush(ms);
  }

  /** Where one of the two is a terminal, the other one, such as a file, gets none. */
  #hasColors(fd: number): boolean {
    return this.#style.colors && (isatty(fd) || !isatty(fd === 1 ? 2 : 1));
  }

  #isTerminal(fd: number): boolean {
    return this.#outlet === this.#terminal && isatty(fd);
  }

  /** Lines of JSON as people read them, unless lines are to be written as they are. */
  #pretty(source: OutputSource, lines: Buffer, colors: boolean): Buffer {
    if (this.#style.prefix === false || this.levels.isOff || !this.levels.mayBeIn(lines, 0, lines.length)) return lines;
    const shown = linesIn(lines).map(({ start, end }) => {
      const level = this.levels.of(lines, start, end);
      const text = prettyLine(lines.toString("utf8", start, end), SEVERITIES[level] ?? source.severity, colors);
      return text === undefined ? lines.subarray(start, end + 1) : Buffer.from(`${text}\n`);
    });
    return Buffer.concat(shown);
  }

  #printable(lines: Buffer, colors: boolean): Buffer {
    const text = lines.toString("latin1");
    const shown = printableBytes(text, colors);
    return shown === text ? lines : Buffer.from(shown, "latin1");
  }

  /** Time that is shown for an entry about `at`. */
  #time(at: number): number {
    this.#last = entryTime(at, this.#last, Date.now());
    return this.#last;
  }

  /** `mark`: "!" for standard error, as in log files. */
  #prefix(id: string, color: number, { at, fd, mark }: LinePlace): string {
    const time = hostStamp(this.#time(at));
    const head = `${this.#style.decorate ? `${time} ` : ""}${binary(id.padEnd(this.#width))} `;
    if (!this.#hasColors(fd)) return `${head}${mark} `;
    return mark === "!" ? `${paint(head, color)}${paint("! ", RED)}` : paint(`${head}| `, color);
  }

  #move(file: string | undefined): void {
    this.#unwatch();
    this.#outlet.release?.();
    this.#outlet = file === undefined ? this.#terminal : this.#fileOutlet(file);
    this.#unwatch = this.#watch();
  }

  #fileOutlet(path: string): ConsoleOutlet {
    makePrivate(dirname(path));
    const { file, release } = this.#files.share(path, "procman", ROTATION, OWN_MODE);
    return {
      backpressure: file.backpressure,
      isDead: () => false,
      isOverfull: false,
      write: (_fd, lines) => file.write(lines),
      release,
    };
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
      this.print({
        t: "say",
        at: Date.now(),
        severity: "warn",
        text: `${dropped} messages not shown: the terminal was too slow`,
      });
  }
}

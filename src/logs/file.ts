/** One log file for all streams that write to it. What it can't take at the moment waits, and the streams with it. */
import type { Rotation } from "../contract/logger-protocol.ts";
import { Appender, lineStart } from "./appender.ts";
import { Archive } from "./archive.ts";
import { Backlog } from "./backlog.ts";
import type { Compressor } from "./compressor.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import { Gate } from "./gate.ts";

/** So long the writers wait for a full disk; then their lines are dropped and counted. */
export const HOLD_MS = 30_000;

const RETRY_MS = 250;
const RETRY_DROPPING_MS = 1000;
/** A FIFO or terminal that is full for a moment is no failure. */
const RETRY_BUSY_MS = 10;
const MOMENT_MS = 1000;

const RESTART_MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]\n";
/** The file itself is in order, it only has no room: it stays open. */
const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EAGAIN"]);

export type FileReport = {
  readonly problem: (file: string, code: string, message: string) => void;
  readonly recovered: (file: string, lostLines: number, lostBytes: number) => void;
  /** Nothing waits for the file any more, however short that was. */
  readonly caughtUp: () => void;
};

export type FileOptions = { readonly report: FileReport; readonly compressor: Compressor; readonly holdMs: number };

type Trouble = {
  readonly backlog: Backlog;
  readonly since: number;
  dropping: boolean;
  said: boolean;
  error: unknown;
  timer: NodeJS.Timeout | undefined;
};

export class LogFile {
  readonly path: string;
  /** Closed while lines wait for the file. */
  readonly gate = new Gate();
  readonly #options: FileOptions;
  readonly #appender: Appender;
  readonly #archive: Archive;
  #trouble: Trouble | undefined;
  #marked: unknown;
  #whenIdle: (() => void) | undefined;

  constructor(path: string, options: FileOptions) {
    this.path = path;
    this.#options = options;
    this.#archive = new Archive(options.compressor, {
      problem: options.report.problem,
      works: (file) => options.report.recovered(file, 0, 0),
    });
    this.#appender = new Appender(path, this.#archive);
  }

  /** Lines are held that the file could not take, or the count of those that were dropped. */
  get isBehind(): boolean {
    return this.#trouble !== undefined && !this.#trouble.backlog.isEmpty;
  }

  /** And that for longer than a slow reader explains. */
  get isStuck(): boolean {
    const trouble = this.#trouble;
    return trouble !== undefined && this.isBehind && (trouble.said || Date.now() - trouble.since > MOMENT_MS);
  }

  set rotation(rotation: Rotation | undefined) {
    this.#archive.rotation = rotation;
  }

  /** Opens the file before the first line comes. */
  prepare(): void {
    if (this.#trouble) return;
    const { error } = this.#appender.prepare();
    if (error !== undefined) this.#fail(new Backlog(Buffer.alloc(0), 0), error);
  }

  /** `lines` are whole lines; they are written, held or counted as lost when this returns. */
  write(lines: Buffer): void {
    if (this.#trouble?.dropping) {
      this.#trouble.backlog.drop(lines);
      return;
    }
    if (this.#trouble) {
      this.#trouble.backlog.hold(lines);
      return;
    }
    const { done, error } = this.#appender.append(lines, 0);
    if (error === undefined) return;
    const start = lineStart(lines, done);
    this.#fail(new Backlog(lines.subarray(start), done - start), error);
  }

  /** Once for each killing (whatever stands for it), however many streams of the killed logger write here. */
  markRestart(killing: unknown): void {
    if (this.#marked === killing) return;
    this.#marked = killing;
    this.write(Buffer.from(RESTART_MARK));
  }

  reopen(): void {
    this.#appender.close();
    if (this.#trouble) this.#retry();
    else this.prepare();
  }

  /** Nobody writes here any more. `done` is called when nothing waits either. */
  release(done: () => void): void {
    this.#whenIdle = done;
    if (!this.#trouble) this.#close();
  }

  /** Somebody came back before the file was closed. */
  keep(): void {
    this.#whenIdle = undefined;
  }

  /** The logger ends: one last try; what the file doesn't take is lost, and that is said. */
  end(): void {
    if (this.#trouble) this.#retry();
    if (this.#trouble) this.#sayLost(this.#trouble);
    this.#close();
  }

  /** From now on nothing waits: the logger is about to end. */
  stopHolding(): void {
    if (this.#trouble) this.#drop(this.#trouble);
  }

  #close(): void {
    this.#appender.close();
    const done = this.#whenIdle;
    this.#whenIdle = undefined;
    done?.();
  }

  #fail(backlog: Backlog, error: unknown): void {
    this.#trouble = { backlog, error, since: Date.now(), dropping: false, said: false, timer: undefined };
    this.#wait(this.#trouble, error);
    this.gate.set(true);
  }

  #wait(trouble: Trouble, error: unknown): void {
    const code = errnoOf(error);
    trouble.error = error;
    if (!NO_ROOM.has(code)) this.#appender.close();
    if (!trouble.dropping && Date.now() - trouble.since >= this.#options.holdMs) this.#drop(trouble);
    const isBusy = code === "EAGAIN" && !trouble.dropping;
    if (!isBusy && !trouble.said) {
      trouble.said = true;
      this.#options.report.problem(this.path, code, `Cannot write ${this.path}: ${reasonOf(error)}`);
    }
    const again = trouble.dropping ? RETRY_DROPPING_MS : RETRY_MS;
    trouble.timer = setTimeout(() => this.#retry(), isBusy ? RETRY_BUSY_MS : again);
  }

  #drop(trouble: Trouble): void {
    trouble.dropping = true;
    this.gate.set(false);
  }

  #retry(): void {
    const trouble = this.#trouble;
    if (!trouble) return;
    clearTimeout(trouble.timer);
    const error = this.#catchUp(trouble);
    if (error !== undefined) {
      this.#wait(trouble, error);
      return;
    }
    this.#trouble = undefined;
    const { lostLines, lostBytes } = trouble.backlog;
    if (trouble.said) this.#options.report.recovered(this.path, lostLines, lostBytes);
    this.#options.report.caughtUp();
    this.gate.set(false);
    if (this.#whenIdle) this.#close();
  }

  /** What waited, then the mark for what was dropped after it. */
  #catchUp({ backlog, error }: Trouble): unknown {
    do {
      const progress = this.#appender.append(backlog.bytes, backlog.done);
      backlog.wrote(progress.done);
      if (progress.error !== undefined) return progress.error;
    } while (backlog.addMark(reasonOf(error)));
    return undefined;
  }

  #sayLost(trouble: Trouble): void {
    clearTimeout(trouble.timer);
    this.#trouble = undefined;
    const { backlog, error } = trouble;
    backlog.giveUp();
    const { lostLines, lostBytes } = backlog;
    if (lostLines === 0) return;
    const message = `Cannot write ${this.path}: ${lostLines} lines (${lostBytes} bytes) lost, ${reasonOf(error)}`;
    this.#options.report.problem(this.path, errnoOf(error), message);
  }
}

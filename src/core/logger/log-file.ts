/** A log file, shared by all streams that write to it. While it can't be written, its lines and streams wait. */
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { Rotation } from "../ipc/logger-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { Appender, type AppendProgress, lineStart } from "./appender.ts";
import { Backpressure } from "./backpressure.ts";
import type { FileCompressor } from "./file-compressor.ts";
import { LogRotation } from "./rotation.ts";
import { WriteBuffer } from "./write-buffer.ts";

/** Time for which writers wait for a full disk; then lines are dropped and counted. Milliseconds. */
export const HOLD_MS = 30_000;

const RETRY_MS = 250;
const RETRY_DROPPING_MS = 1000;
/** A FIFO or terminal that is full for a moment is not a failure. */
const RETRY_BUSY_MS = 10;
const MOMENT_MS = 1000;

const RESTART_MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]\n";
/** Errors after which the file stays open: it only lacks room. */
const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EAGAIN"]);

export type FileReport = {
  readonly problem: (file: string, code: string, message: string) => void;
  readonly recovered: (file: string, lostLines: number, lostBytes: number) => void;
  /** No line is waiting for the file any more, however short the wait was. */
  readonly caughtUp: () => void;
};

export type FileOptions = {
  readonly report: FileReport;
  readonly compressor: FileCompressor;
  readonly holdMs: number;
  readonly room?: DescriptorRoom;
};

export type DescriptorRoom = {
  /** Closes the log file that was not written to for longest, until its next line; false: none can be closed. */
  readonly make: () => boolean;
  /** Makes room as long as few descriptors are left. */
  readonly restore: () => void;
};

type LogFileFailure = {
  readonly backlog: WriteBuffer;
  /** Monotonic milliseconds. */
  readonly since: number;
  dropping: boolean;
  reported: boolean;
  error: unknown;
  timer: NodeJS.Timeout | undefined;
};

let usedCount = 0;

export class LogFile {
  readonly path: string;
  /** Closed while lines are waiting for the file. */
  readonly backpressure = new Backpressure();
  readonly #options: FileOptions;
  readonly #appender: Appender;
  readonly #archive: LogRotation;
  #failure: LogFileFailure | undefined;
  #marked: unknown;
  /** When it was written to, on the logger's count of writes. */
  usedAt = 0;
  #whenIdle: (() => void) | undefined;

  /** `mode`: of a new file. */
  constructor(path: string, options: FileOptions, mode?: number) {
    this.path = path;
    this.#options = options;
    this.#archive = new LogRotation(options.compressor, {
      problem: options.report.problem,
      works: (file) => options.report.recovered(file, 0, 0),
    });
    this.#appender = new Appender(path, this.#archive, mode);
  }

  /** Whether lines are waiting, or a mark for dropped lines. */
  get isBehind(): boolean {
    return this.#failure !== undefined && !this.#failure.backlog.isEmpty;
  }

  /** Whether they have been waiting longer than a slow reader explains. */
  get isStuck(): boolean {
    const failure = this.#failure;
    return failure !== undefined && this.isBehind && (failure.reported || monotonicMs() - failure.since > MOMENT_MS);
  }

  set rotation(rotation: Rotation | undefined) {
    this.#archive.rotation = rotation;
  }

  /** Opens the file before the first line. */
  prepare(): void {
    if (this.#failure) return;
    const { error } = this.#append(Buffer.alloc(0), 0);
    if (error !== undefined) this.#fail(new WriteBuffer(Buffer.alloc(0), 0), error);
  }

  /** `lines` are whole lines; when this returns, they are written, buffered, or counted as lost. */
  write(lines: Buffer): void {
    if (this.#failure?.dropping) {
      this.#failure.backlog.drop(lines);
      return;
    }
    if (this.#failure) {
      this.#failure.backlog.add(lines);
      return;
    }
    const { done, error } = this.#append(lines, 0);
    if (error === undefined) return;
    const start = lineStart(lines, done);
    this.#fail(new WriteBuffer(lines.subarray(start), done - start), error);
  }

  /** Writes one mark for each killed logger (identified by `crashId`), however many of its streams write here. */
  markRestart(crashId: unknown): void {
    if (this.#marked === crashId) return;
    this.#marked = crashId;
    this.write(Buffer.from(RESTART_MARK));
  }

  reopen(): void {
    this.#appender.close();
    if (this.#failure) this.#retry();
    else this.prepare();
  }

  /** Empties the file; lines that wait for it are written to it after that. Returns and throws as `emptyFile`. */
  empty(): boolean {
    const isEmptied = this.#appender.empty();
    if (this.#failure) this.#retry();
    return isEmptied;
  }

  /** The last writer has released the file. `done` is called when no line is waiting. */
  release(done: () => void): void {
    this.#whenIdle = done;
    if (!this.#failure) this.#close();
  }

  /** A new writer uses the file before it was closed. */
  keep(): void {
    this.#whenIdle = undefined;
  }

  /** The logger ends: makes a last attempt, and reports lines that are lost. */
  end(): void {
    if (this.#failure) this.#retry();
    if (this.#failure) this.#reportLost(this.#failure);
    this.#close();
  }

  /** From now on lines are dropped instead of buffered, because the logger is about to end. */
  stopHolding(): void {
    if (this.#failure) this.#drop(this.#failure);
  }

  /** Its descriptor, if it may be closed until the next line. */
  get idleDescriptor(): number | undefined {
    return this.#failure === undefined ? this.#appender.idleDescriptor : undefined;
  }

  /** The next line opens it again. */
  closeForNow(): void {
    this.#appender.close();
  }

  /** Without free descriptors other files are closed for it. */
  #append(lines: Buffer, from: number): AppendProgress {
    usedCount += 1;
    this.usedAt = usedCount;
    const { room } = this.#options;
    const wasOpen = this.#appender.idleDescriptor !== undefined;
    let progress = this.#appender.append(lines, from);
    while (progress.error !== undefined && errnoOf(progress.error) === "EMFILE" && room?.make() === true)
      progress = this.#appender.append(lines, progress.done);
    if (!wasOpen) room?.restore();
    return progress;
  }

  #close(): void {
    this.#appender.close();
    const done = this.#whenIdle;
    this.#whenIdle = undefined;
    done?.();
  }

  #fail(backlog: WriteBuffer, error: unknown): void {
    this.#failure = { backlog, error, since: monotonicMs(), dropping: false, reported: false, timer: undefined };
    this.#wait(this.#failure, error);
    this.backpressure.set(true);
  }

  #wait(failure: LogFileFailure, error: unknown): void {
    const code = errnoOf(error);
    failure.error = error;
    if (!NO_ROOM.has(code)) this.#appender.close();
    if (!failure.dropping && monotonicMs() - failure.since >= this.#options.holdMs) this.#drop(failure);
    const isBusy = code === "EAGAIN" && !failure.dropping;
    if (!isBusy && !failure.reported) {
      failure.reported = true;
      this.#options.report.problem(this.path, code, `Cannot write ${this.path}: ${reasonOf(error)}`);
    }
    const again = failure.dropping ? RETRY_DROPPING_MS : RETRY_MS;
    failure.timer = setTimeout(() => this.#retry(), isBusy ? RETRY_BUSY_MS : again);
  }

  #drop(failure: LogFileFailure): void {
    failure.dropping = true;
    this.backpressure.set(false);
  }

  #retry(): void {
    const failure = this.#failure;
    if (!failure) return;
    clearTimeout(failure.timer);
    const error = this.#catchUp(failure);
    if (error !== undefined) {
      this.#wait(failure, error);
      return;
    }
    this.#failure = undefined;
    const { lostLines, lostBytes } = failure.backlog;
    if (failure.reported) this.#options.report.recovered(this.path, lostLines, lostBytes);
    this.#options.report.caughtUp();
    this.backpressure.set(false);
    if (this.#whenIdle) this.#close();
  }

  /** Writes the lines that were waiting, then the mark for dropped ones. */
  #catchUp({ backlog, error }: LogFileFailure): unknown {
    do {
      const progress = this.#append(backlog.bytes, backlog.done);
      backlog.wrote(progress.done);
      if (progress.error !== undefined) return progress.error;
    } while (backlog.addMark(reasonOf(error)));
    return undefined;
  }

  #reportLost(failure: LogFileFailure): void {
    clearTimeout(failure.timer);
    this.#failure = undefined;
    const { backlog, error } = failure;
    backlog.giveUp();
    const { lostLines, lostBytes } = backlog;
    if (lostLines === 0) return;
    const message = `Cannot write ${this.path}: ${lostLines} lines (${lostBytes} bytes) lost, ${reasonOf(error)}`;
    this.#options.report.problem(this.path, errnoOf(error), message);
  }
}

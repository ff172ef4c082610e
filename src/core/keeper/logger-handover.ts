/** What a logger leaves to the next one: its hand-over, the end of its reading, and the lines of procman itself that it may not have stored. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../base/errors.ts";
import {
  type BegunRun,
  type HandoverRecord,
  handoverFile,
  handoverOf,
  type LoggerMessage,
} from "../ipc/logger-protocol.ts";
import { namesIfSeen, removeIfAllowed } from "../os/files.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { allProcesses, isAlive } from "../os/process-stat.ts";
import { fifosHeldBy, writerOf } from "./fifo-pool.ts";
import { warn } from "./log.ts";

/** What the previous loggers left of a run: incomplete lines, or "killed" if its reader handed over nothing. */
export type FormerReading = "killed" | BegunRun;

export type LoggerHandover = (key: string) => FormerReading;

const DRAINED: BegunRun = { out: "", err: "" };

/** Reads the hand-overs of these loggers. The latest that names a run counts; a killed one may have read any run. */
export function readHandover(runFolder: string, pids: readonly number[]): LoggerHandover {
  if (pids.length === 0) return () => "killed";
  const records = pids.toReversed().map((pid) => recordOf(handoverFile(runFolder, pid)));
  return (key) => {
    for (const record of records) {
      const capture = record === undefined ? "killed" : record.captures[key];
      if (capture !== undefined) return isBegun(capture) ? capture : "killed";
    }
    return DRAINED;
  };
}

/** Removes hand-over files, complete or partly written, but not those of `kept`, which may be read again. */
export function clearHandovers(runFolder: string, kept: Iterable<number>): void {
  const pids = new Set(kept);
  for (const name of namesIfSeen(runFolder)) {
    const pid = handoverOf(name);
    if (pid !== undefined && !pids.has(pid)) removeIfAllowed(join(runFolder, name));
  }
}

/** undefined: the logger was killed and handed over nothing, or its hand-over is damaged. */
function recordOf(file: string): HandoverRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(file, "utf8")) as Partial<HandoverRecord> | null;
    return typeof record?.captures === "object" && record.captures !== null ? { captures: record.captures } : undefined;
  } catch (error) {
    if (isUnseen(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isBegun(capture: unknown): boolean {
  if (capture === "killed") return true;
  const { out, err } = (capture ?? {}) as Partial<BegunRun>;
  return typeof out === "string" && typeof err === "string";
}

/** A folder without rights is like one that was removed: no logger has left anything there. */
function isUnseen(error: unknown): boolean {
  return ["ENOENT", "EACCES"].includes(errnoOf(error));
}

export type LoggerProcess = { readonly pid: number; readonly startTime: string };

/** The loggers that read the output of these runs, by their pids, for a keeper whose records of them were lost. Linux only. */
export function loggersReading(runs: readonly number[]): readonly LoggerProcess[] {
  const fifos = new Set(runs.map(writerOf).flatMap(fifosHeldBy));
  if (fifos.size === 0) return [];
  return allProcesses().filter(({ pid }) => handlesSignal(pid) && fifosHeldBy(pid).some((fifo) => fifos.has(fifo)));
}

/** How often previous loggers are checked for their end. Milliseconds. */
const POLL_MS = 10;

type PreviousReading = {
  readonly loggers: readonly LoggerProcess[];
  readonly keys: Iterable<string>;
  readonly after: Promise<void>;
};

/** Loggers of earlier keepers. Two readers would split the lines of a FIFO between them, so these are asked to hand over, and read until then. */
export class PreviousLoggers {
  readonly #keys: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;

  /** They are asked `after` this. `onGone`: all have ended, and the current logger may read these runs. */
  constructor({ loggers, keys, after }: PreviousReading, onGone: (keys: ReadonlySet<string>) => void) {
    this.#keys = new Set(keys);
    const unasked = new Set<LoggerProcess>();
    void after.then(() => {
      for (const logger of loggers) unasked.add(logger);
    });
    this.#timer = setInterval(() => {
      const alive = loggers.filter(({ pid, startTime }) => isAlive(pid, startTime));
      for (const logger of alive)
        if (unasked.has(logger) && handlesSignal(logger.pid)) requestHandover(logger, unasked);
      if (alive.length > 0) return;
      this.stop();
      onGone(this.#keys);
    }, POLL_MS);
  }

  /** Whether one of them reads the output of this run. */
  reads(key: string): boolean {
    return this.#timer !== undefined && this.#keys.has(key);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Until its handler is set, SIGUSR1 would start Node's debugger. On Linux the process name tells that it is set; elsewhere it is assumed. */
function handlesSignal(pid: number): boolean {
  if (process.platform !== "linux") return true;
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("procman: logger");
  } catch {
    return false;
  }
}

function requestHandover(logger: LoggerProcess, unasked: Set<LoggerProcess>): void {
  unasked.delete(logger);
  signalIfThere(logger.pid, "SIGUSR1");
}

/** Most lines that are kept while no logger has read them. */
const UNREAD_LINES = 10_000;
/** Limits for lines that a logger may have read: number, characters together, age in milliseconds. */
const READ_LINES = 1_000;
const READ_CHARACTERS = 1_000_000;
const READ_MS = 300_000;

/** procman's own lines for the next logger: those that none has read, and the last ones before, which a killed logger may not have stored. */
export class UnreadLines {
  #lines: LoggerMessage[] = [];
  readonly #read: LoggerMessage[] = [];
  #readCharacters = 0;
  #dropped = 0;
  readonly #report: (problem: string) => void;

  constructor(report: (problem: string) => void = warn) {
    this.#report = report;
  }

  /** `isRead`: it is sent to a logger that has answered. */
  add(line: LoggerMessage, isRead = false): void {
    if (isRead) this.#keep(line);
    else if (this.#lines.length < UNREAD_LINES) this.#lines.push(line);
    else this.#dropped += 1;
  }

  /** For a logger that was just started. */
  get all(): readonly LoggerMessage[] {
    const since = Date.now() - READ_MS;
    return [
      ...this.#read.filter(({ at }) => at > since).map((line) => ({ ...line, isAgain: true }) as const),
      ...this.#lines,
    ];
  }

  /** The logger has answered: what was sent to it is in its channel. */
  clear(): void {
    if (this.#dropped > 0)
      this.#report(`${this.#dropped} lines of procman itself are lost: no logger could be started in time`);
    for (const line of this.#lines) this.#keep(line);
    this.#lines = [];
    this.#dropped = 0;
  }

  /** Not lines of programs and plugins (`category`): they may come faster than a logger writes, and who sends one to the log gets a receipt. */
  #keep(line: LoggerMessage): void {
    if (line.category !== undefined && line.category !== "api") return;
    this.#read.push(line);
    this.#readCharacters += line.text.length;
    while (this.#read.length > READ_LINES || this.#readCharacters > READ_CHARACTERS)
      this.#readCharacters -= this.#read.shift()?.text.length ?? 0;
  }
}

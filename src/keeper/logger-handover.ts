/** What a logger left to its successor. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BegunRun, type HandoverRecord, handoverFile, handoverOf } from "../ipc/logger-protocol.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive } from "../os/process-stat.ts";

/** What becomes of the output of a run that loggers before have read. */
export type LoggerHandover = (key: string) => "killed" | BegunRun;

const DRAINED: BegunRun = { out: "", err: "" };

/** Reads what the loggers of these pids left. The latest of them that knows of a run knows best; a killed one may have read any. */
export function readHandover(home: string, pids: readonly number[]): LoggerHandover {
  if (pids.length === 0) return () => "killed";
  const records = pids.toReversed().map((pid) => recordOf(handoverFile(home, pid)));
  return (key) => {
    for (const record of records) {
      const left = record === undefined ? "killed" : record.captures[key];
      if (left !== undefined) return left;
    }
    return DRAINED;
  };
}

/** Removes what loggers left, whole or in the middle of writing it down, but for these, which may be asked for again. */
export function clearHandovers(home: string, kept: Iterable<number>): void {
  const pids = new Set(kept);
  for (const name of namesIn(home)) {
    const pid = handoverOf(name);
    if (pid !== undefined && !pids.has(pid)) rmSync(join(home, name), { force: true });
  }
}

/** None: the state folder was removed. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** undefined: it handed over nothing, as it was killed. */
function recordOf(file: string): HandoverRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as HandoverRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Loggers of earlier keepers. Two readers of one FIFO would tear its lines apart: they are asked to hand over, and read on until they have. */

export type LoggerProcess = { readonly pid: number; readonly startTime: string };

/** How often it is looked whether it is gone. Milliseconds. */
const LOOK_MS = 10;

export class PreviousLoggers {
  readonly #keys: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;

  /** `onGone`: all have ended, and what they read is for their successor. */
  constructor(loggers: readonly LoggerProcess[], keys: Iterable<string>, onGone: (keys: ReadonlySet<string>) => void) {
    this.#keys = new Set(keys);
    const unasked = new Set(loggers);
    this.#timer = setInterval(() => {
      const alive = loggers.filter(({ pid, startTime }) => isAlive(pid, startTime));
      for (const logger of alive) if (unasked.has(logger) && listens(logger.pid)) ask(logger, unasked);
      if (alive.length > 0) return;
      this.stop();
      onGone(this.#keys);
    }, LOOK_MS);
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

/** Before that, a Node takes SIGUSR1 for a wish to be debugged. Linux tells by the name that the logger gives itself; elsewhere it is believed. */
function listens(pid: number): boolean {
  if (process.platform !== "linux") return true;
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("procman: logger");
  } catch {
    return false;
  }
}

function ask(logger: LoggerProcess, unasked: Set<LoggerProcess>): void {
  unasked.delete(logger);
  signalIfThere(logger.pid, "SIGUSR1");
}

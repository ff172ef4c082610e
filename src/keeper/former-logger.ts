/** Loggers of earlier keepers. Two readers of one FIFO would tear its lines apart: they are asked to hand over, and read on until they have. */
import { readFileSync } from "node:fs";
import { isAlive } from "../os/process-stat.ts";
import { signalIfThere } from "../os/signal.ts";

export type LoggerProcess = { readonly pid: number; readonly startTime: string };

/** How often it is looked whether it is gone. Milliseconds. */
const LOOK_MS = 10;

export class FormerLoggers {
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

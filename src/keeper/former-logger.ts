/** The logger of an earlier keeper. Two readers of one FIFO would tear its lines apart: it is asked to hand over, and reads on until it has. */
import { readFileSync } from "node:fs";
import { isAlive } from "../os/process-stat.ts";
import { signalIfThere } from "../os/signal.ts";

export type LoggerProcess = { readonly pid: number; readonly startTime: string };

/** How often it is looked whether it is gone. Milliseconds. */
const LOOK_MS = 10;

export class FormerLogger {
  readonly #keys: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;

  /** `onGone`: it has ended, and what it read is for its successor. */
  constructor(logger: LoggerProcess, keys: Iterable<string>, onGone: (keys: ReadonlySet<string>) => void) {
    this.#keys = new Set(keys);
    let asked = false;
    this.#timer = setInterval(() => {
      if (!isAlive(logger.pid, logger.startTime)) {
        this.stop();
        onGone(this.#keys);
      } else if (!asked && listens(logger.pid)) {
        asked = true;
        signalIfThere(logger.pid, "SIGUSR1");
      }
    }, LOOK_MS);
  }

  /** Whether it reads the output of this run. */
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

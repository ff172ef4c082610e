/** Loggers of earlier keepers. Two readers of one FIFO would tear its lines apart: they are asked to hand over, and read on until they have. */
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
    for (const { pid } of loggers) signalIfThere(pid, "SIGUSR1");
    this.#timer = setInterval(() => {
      if (loggers.some(({ pid, startTime }) => isAlive(pid, startTime))) return;
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

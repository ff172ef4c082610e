/** The logger of an earlier keeper. Two readers of one FIFO would tear its lines apart: it is asked to hand over, and reads on until it has. */
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
    signalIfThere(logger.pid, "SIGUSR1");
    this.#timer = setInterval(() => {
      if (isAlive(logger.pid, logger.startTime)) return;
      this.stop();
      onGone(this.#keys);
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

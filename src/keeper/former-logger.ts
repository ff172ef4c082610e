/** The logger of an earlier keeper. It goes on with the runs that it reads; two readers of one FIFO would tear its lines apart. */
import { isAlive } from "../os/process-stat.ts";

export type LoggerProcess = { readonly pid: number; readonly startTime: string };

/** How often it is looked whether it is gone. Milliseconds. */
const LOOK_MS = 100;

export class FormerLogger {
  readonly #keys: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;

  /** `onGone`: it has ended, at the latest with the last of these runs; what is not drained by then is nobody's. */
  constructor(logger: LoggerProcess, keys: Iterable<string>, onGone: (keys: ReadonlySet<string>) => void) {
    this.#keys = new Set(keys);
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

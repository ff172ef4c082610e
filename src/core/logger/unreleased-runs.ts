/** Runs that have just begun: their output is read once the service has written its entry about the start. */

/** Longest wait for that; a service that has been killed is replaced in less. Milliseconds. */
const WAIT_MS = 1_000;

type UnreadRun = { readonly read: () => void; readonly timer: NodeJS.Timeout };

export class UnreleasedRuns {
  readonly #runs = new Map<string, UnreadRun>();
  readonly #waitMs: number;
  /** Whether the service reports the starts that it has written. One that doesn't is waited for once. */
  isReporting = false;

  constructor(waitMs: number = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  /** `read` is called when the start of the run is written; at once if no service reports that. */
  add(key: string, read: () => void): void {
    if (!this.isReporting) return read();
    const timer = setTimeout(() => {
      this.isReporting = false;
      this.releaseAll();
    }, this.#waitMs);
    this.#runs.set(key, { read, timer });
  }

  /** The starts of these runs are written. */
  release(keys: readonly string[]): void {
    this.isReporting = true;
    for (const key of keys) this.#read(key);
  }

  releaseAll(): void {
    for (const key of [...this.#runs.keys()]) this.#read(key);
  }

  #read(key: string): void {
    const run = this.#runs.get(key);
    if (run === undefined) return;
    clearTimeout(run.timer);
    this.#runs.delete(key);
    run.read();
  }
}

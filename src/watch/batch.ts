/** Gathers changes until what belongs together is there. */
import { monotonicMs } from "../os/monotonic.ts";

/** `file`: absolute. `at`: when it was heard of last; monotonic milliseconds. */
export type Changed = { readonly file: string; readonly at: number };

/** While files go on changing at shorter distances, it is waited. Milliseconds. */
const REST_MS = 100;
/** But not longer than so many intervals. */
const MOST_INTERVALS = 10;

export class Batch {
  readonly #intervalMs: number;
  readonly #changed: (files: readonly Changed[]) => void;
  readonly #files = new Map<string, number>();
  #first = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `intervalMs`: from the first change to the report. */
  constructor(intervalMs: number, changed: (files: readonly Changed[]) => void) {
    this.#intervalMs = intervalMs;
    this.#changed = changed;
  }

  /** `at`: when it was heard of; monotonic milliseconds. */
  add(file: string, at: number): void {
    if (this.#files.size === 0) this.#first = at;
    this.#last = at;
    this.#files.set(file, at);
  }

  /** All that is known for now has been added. */
  arm(): void {
    if (this.#files.size === 0 || this.#timer !== undefined) return;
    const rest = Math.min(REST_MS, this.#intervalMs);
    const due = Math.min(Math.max(this.#first + this.#intervalMs, this.#last + rest), this.#first + MOST_INTERVALS * this.#intervalMs);
    const left = due - monotonicMs();
    if (left <= 0) return this.#tell();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.arm();
    }, Math.ceil(left));
  }

  /** What was not reported yet, and will not be any more. */
  take(): readonly Changed[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const files = [...this.#files].map(([file, at]) => ({ file, at }));
    this.#files.clear();
    return files;
  }

  #tell(): void {
    this.#changed(this.take());
  }
}

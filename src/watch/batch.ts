/** Gathers changes until what belongs together is there. */
import { monotonicMs } from "../os/monotonic.ts";

export type Change = {
  /** Absolute; the first one first. */
  readonly files: readonly string[];
  /** When the latest of them was heard of; monotonic milliseconds. */
  readonly at: number;
};

/** While files go on changing at shorter distances, it is waited. Milliseconds. */
const REST_MS = 100;
/** But not longer than so many intervals. */
const MOST_INTERVALS = 10;

export class Batch {
  readonly #intervalMs: number;
  readonly #changed: (change: Change) => void;
  readonly #files = new Set<string>();
  #first = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `intervalMs`: from the first change to the report. */
  constructor(intervalMs: number, changed: (change: Change) => void) {
    this.#intervalMs = intervalMs;
    this.#changed = changed;
  }

  /** `at`: when it was heard of; monotonic milliseconds. */
  add(file: string, at: number): void {
    if (this.#files.size === 0) this.#first = at;
    this.#last = at;
    this.#files.add(file);
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

  close(): void {
    clearTimeout(this.#timer);
    this.#files.clear();
  }

  #tell(): void {
    const change: Change = { files: [...this.#files], at: this.#last };
    this.#files.clear();
    this.#changed(change);
  }
}

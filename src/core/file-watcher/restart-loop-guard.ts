/** Recognises a process that writes its own watched files, so that it is not restarted for ever. */
import type { Clock } from "../base/timer-clock.ts";

/** A change within this time after a start may be made by the process itself. */
const WINDOW_MS = 5_000;
/** Total weight of such changes in a row that is still allowed: a person may save often, at irregular intervals. */
const LIMIT = 15;
/** Delays that differ by no more are regular, which suggests a program; such a change has the greater weight. */
const REGULAR_MS = 500;
const REGULAR_WEIGHT = 3;
/** Files are at rest after this time without a change. */
const REST_MS = 10_000;
/** A process that changes files again after such a rest is restarted ever later; at most after this time. */
const LONGEST_REST_MS = 600_000;

/** `go`: restart. `held`: wait until files are at rest. `looping`: the process itself seems to change the files, wait longer. `silent`: as before, already reported. */
export type GuardVerdict = "go" | "held" | "looping" | "silent";

export class RestartLoopGuard {
  readonly #clock: Pick<Clock, "at" | "now">;
  readonly #onRest: () => void;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Weight of the changes in a row that came soon after a start. */
  #weight = 0;
  /** Delay of the latest of them after its start. */
  #delay: number | undefined;
  /** Set after a rest: a change soon after the next start is then made by the process. */
  #isSuspect = false;
  #wasPaused = false;
  #restMs = REST_MS;
  /** End of the pause, if files are at rest by then. */
  #pauseEnd = 0;
  #cancel: (() => void) | undefined;

  /** `onRest`: after `held` and `looping`, files are at rest: the process may be restarted. */
  constructor(clock: Pick<Clock, "at" | "now">, onRest: () => void) {
    this.#clock = clock;
    this.#onRest = onRest;
  }

  /** Decides about a change at `at`. `since`: start of the current run, if any. Monotonic milliseconds. */
  verdict(at: number, since = Number.NEGATIVE_INFINITY): GuardVerdict {
    if (this.#cancel !== undefined) {
      this.#cancel();
      this.#schedule(Math.max(REST_MS, this.#pauseEnd - this.#clock.now()));
      return "silent";
    }
    this.#weigh(at - Math.max(since, this.#startedAt));
    if (this.#weight > 0 && (this.#isSuspect || this.#weight >= LIMIT)) {
      const verdict = this.#isSuspect ? "looping" : "held";
      this.#pause();
      return verdict;
    }
    this.#startedAt = at;
    this.#wasPaused = false;
    return "go";
  }

  /** Length of the present or latest pause. Seconds. */
  get pauseSeconds(): number {
    return this.#restMs / 1_000;
  }

  /** Cancels the timer. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #weigh(delay: number): void {
    const isRegular = Math.abs(delay - (this.#delay ?? delay)) <= REGULAR_MS;
    const isSoon = delay < WINDOW_MS;
    this.#weight = isSoon ? this.#weight + (isRegular ? REGULAR_WEIGHT : 1) : 0;
    this.#delay = isSoon ? delay : undefined;
    if (isSoon || this.#wasPaused) return;
    this.#isSuspect = false;
    this.#restMs = REST_MS;
  }

  #pause(): void {
    this.#wasPaused = true;
    this.#pauseEnd = this.#clock.now() + this.#restMs;
    this.#schedule(this.#restMs);
  }

  #schedule(ms: number): void {
    this.#cancel = this.#clock.at(this.#clock.now() + ms, () => {
      this.#cancel = undefined;
      // Nothing else changes files now: a change soon after the next start seems to be made by the process. It may be
      // an edit, too.
      this.#isSuspect = true;
      this.#restMs = Math.min(this.#restMs * 2, LONGEST_REST_MS);
      this.#startedAt = this.#clock.now();
      this.#wasPaused = false;
      this.#onRest();
    });
  }
}

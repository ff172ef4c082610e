/** Sees to it that a process that writes what it watches is not restarted for ever. */

/** A change so soon after a start may be the start's own doing. Milliseconds. */
const WINDOW_MS = 5_000;
/** So many of them in a row may be somebody who saves often. */
const LIMIT = 5;
/** Without a change for so long, files are at rest. Milliseconds. */
const REST_MS = 10_000;

/** `held`: not now, and that is new. `looping`: it is the process itself. `silent`: still not. */
export type Verdict = "go" | "held" | "looping" | "silent";

export type GuardPorts = {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls so many milliseconds from now; gives a way to drop that. */
  readonly later: (ms: number, call: () => void) => () => void;
  /** Files that were held are at rest: the process may start with them. */
  readonly rested: () => void;
};

export class LoopGuard {
  readonly #ports: GuardPorts;
  #startedAt = Number.NEGATIVE_INFINITY;
  #count = 0;
  /** The last start that came after a rest was followed by a change at once. */
  #isSuspect = false;
  #wasHeld = false;
  #drop: (() => void) | undefined;

  constructor(ports: GuardPorts) {
    this.#ports = ports;
  }

  /** What is to be done about a change. `at`, and `since`, when its run began, if it runs: monotonic milliseconds. */
  verdict(at: number, since = Number.NEGATIVE_INFINITY): Verdict {
    if (this.#drop !== undefined) {
      this.#drop();
      this.#hold();
      return "silent";
    }
    if (at - Math.max(since, this.#startedAt) < WINDOW_MS) this.#count += 1;
    else if (!this.#wasHeld) [this.#count, this.#isSuspect] = [0, false];
    else this.#count = 0;
    if (this.#count > 0 && (this.#isSuspect || this.#count >= LIMIT)) {
      const verdict = this.#isSuspect ? "looping" : "held";
      this.#hold();
      return verdict;
    }
    this.#startedAt = at;
    this.#wasHeld = false;
    return "go";
  }

  /** All over: no timer is left. */
  close(): void {
    this.#drop?.();
    this.#drop = undefined;
  }

  #hold(): void {
    this.#wasHeld = true;
    this.#drop = this.#ports.later(REST_MS, () => {
      this.#drop = undefined;
      // After the start that follows a rest, the next one who changes files at once is known.
      const isNew = !this.#isSuspect;
      this.#isSuspect = true;
      if (!isNew) return;
      this.#startedAt = this.#ports.now();
      this.#wasHeld = false;
      this.#ports.rested();
    });
  }
}

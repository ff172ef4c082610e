/** Sees to it that a process that writes what it watches is not restarted for ever. */

/** A change so soon after a start may be the start's own doing. Milliseconds. */
const WINDOW_MS = 5_000;
/** So many of them in a row may be somebody who saves often: as people do, now sooner, now later. */
const LIMIT = 15;
/** A program writes so regularly; such a change weighs so much more. Milliseconds. */
const ALIKE_MS = 500;
const ALIKE_WEIGHT = 3;
/** Without a change for so long, files are at rest. Milliseconds. */
const REST_MS = 10_000;

/** `held`: not now, and that is new. `looping`: it is the process itself. `silent`: still not. */
export type GuardVerdict = "go" | "held" | "looping" | "silent";

export type GuardPorts = {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls so many milliseconds from now; gives a way to drop that. */
  readonly later: (ms: number, call: () => void) => () => void;
  /** Files that were held are at rest: the process may start with them. */
  readonly rested: () => void;
};

export class RestartLoopGuard {
  readonly #ports: GuardPorts;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Weight of the changes in a row that came soon after a start. */
  #weight = 0;
  /** How soon the latest of them came. Milliseconds. */
  #delay: number | undefined;
  /** The last start that came after a rest was followed by a change at once. */
  #isSuspect = false;
  #wasHeld = false;
  #drop: (() => void) | undefined;

  constructor(ports: GuardPorts) {
    this.#ports = ports;
  }

  /** What is to be done about a change. `at`, and `since`, when its run began, if it runs: monotonic milliseconds. */
  verdict(at: number, since = Number.NEGATIVE_INFINITY): GuardVerdict {
    if (this.#drop !== undefined) {
      this.#drop();
      this.#hold();
      return "silent";
    }
    this.#weigh(at - Math.max(since, this.#startedAt));
    if (this.#weight > 0 && (this.#isSuspect || this.#weight >= LIMIT)) {
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

  #weigh(delay: number): void {
    const isAlike = Math.abs(delay - (this.#delay ?? delay)) <= ALIKE_MS;
    const isSoon = delay < WINDOW_MS;
    this.#weight = isSoon ? this.#weight + (isAlike ? ALIKE_WEIGHT : 1) : 0;
    this.#delay = isSoon ? delay : undefined;
    if (!isSoon && !this.#wasHeld) this.#isSuspect = false;
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

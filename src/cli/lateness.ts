/** Whether lines come faster than they are shown. The clock of their machine may differ from the one here. */

/** What comes within this time counts as in time. Milliseconds. */
const IN_TIME_MS = 1_000;
/** So late, with so many lines that were late, somebody who looks sees only what is over. Milliseconds. */
const TOO_LATE_MS = 3_000;
const MANY = 10_000;

export class Lateness {
  /** Shortest time between writing and showing, so far: the difference of the clocks is in it. Milliseconds. */
  #least = Number.POSITIVE_INFINITY;
  #late = 0;

  /** Whether there were too many late lines up to this one, which was written at `time`. Milliseconds since 1970. */
  isTooLate(time: number, now: number): boolean {
    this.#least = Math.min(this.#least, now - time);
    const ms = now - time - this.#least;
    this.#late = ms < IN_TIME_MS ? 0 : this.#late + 1;
    return ms > TOO_LATE_MS && this.#late > MANY;
  }
}

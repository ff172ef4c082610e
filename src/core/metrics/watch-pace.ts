/** The rhythm of the clients that ask for metrics: one sample shortly before each request is as fresh as many, and costs less. */

/** Shortest and longest rhythm. Milliseconds. */
export const SHORTEST_MS = 1_000;
const LONGEST_MS = 5_000;
/** Requests closer together count as one. Milliseconds. */
const BURST_MS = 500;
/** Time after which a client that has asked no longer counts. Milliseconds. */
const WATCHING_MS = 10_000;
/** A sample is taken this long before the next request is expected. Milliseconds. */
const LEAD_MS = 300;

/** All times are monotonic milliseconds. */
export class WatchPace {
  #last = Number.NEGATIVE_INFINITY;
  #rhythm = SHORTEST_MS;

  asked(now: number): void {
    const pause = now - this.#last;
    if (pause < BURST_MS) return;
    this.#rhythm = pause > WATCHING_MS ? SHORTEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, pause));
    this.#last = now;
  }

  /** Milliseconds until the next sample; undefined: nothing asks. `shortest`: pause between samples. */
  dueIn(now: number, shortest: number): number | undefined {
    if (now - this.#last >= WATCHING_MS) return undefined;
    const due = this.#last + this.#rhythm - LEAD_MS - now;
    // Not again for the request that the last sample was for.
    const rounds = Math.max(0, Math.ceil((shortest / 2 - due) / this.#rhythm));
    return due + rounds * this.#rhythm;
  }
}

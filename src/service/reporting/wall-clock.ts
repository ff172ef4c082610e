/** From monotonic milliseconds to a time of day. */

import type { Clock } from "../../supervisor/ports.ts";
import { systemClock } from "../system-clock.ts";

/** Less than this is no clock that was set, but one that is corrected slowly. Milliseconds. */
const CLOCK_STEP_MS = 50;
/** Longer than this between two looks at clocks: something came in between. Milliseconds. */
const MAX_READ_MS = 1;

export class WallClock {
  readonly #clock: Pick<Clock, "now" | "wall">;
  /** By which the time of day is ahead. It is kept: a run that is asked for twice has begun at the same moment, to the millisecond. */
  #aheadMs: number;

  constructor(clock: Pick<Clock, "now" | "wall">, aheadMs: number) {
    this.#clock = clock;
    this.#aheadMs = aheadMs;
  }

  /** ISO 8601. */
  time(at: number): string {
    const now = this.#clock.now();
    const aheadMs = this.#clock.wall() - now;
    if (Math.abs(aheadMs - this.#aheadMs) > CLOCK_STEP_MS && this.#clock.now() - now < MAX_READ_MS) this.#aheadMs = aheadMs;
    return new Date(this.#aheadMs + at).toISOString();
  }
}

// Finer than Date.now, so that the service after this one says the same.
const systemWall = new WallClock(systemClock, performance.timeOrigin + performance.now() - systemClock.now());

/** Monotonic milliseconds as a time of day. */
export function toIsoTime(at: number): string {
  return systemWall.time(at);
}

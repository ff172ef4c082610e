/** Converts monotonic milliseconds to times of day. */
import type { Clock } from "../../base/timer-clock.ts";
import { systemClock } from "../system-clock.ts";

/** A smaller difference is a slow correction of the clock, not a clock that was set. Milliseconds. */
const CLOCK_STEP_MS = 50;
/** If two reads of the clocks are further apart, the process was interrupted between them. Milliseconds. */
const MAX_READ_MS = 1;

export class WallClock {
  readonly #clock: Pick<Clock, "now" | "wall">;
  /** Wall clock minus monotonic clock. Kept, so that the same moment always converts to the same millisecond. */
  #aheadMs: number;

  constructor(clock: Pick<Clock, "now" | "wall">, aheadMs: number) {
    this.#clock = clock;
    this.#aheadMs = aheadMs;
  }

  /** ISO 8601. */
  time(at: number): string {
    const now = this.#clock.now();
    const aheadMs = this.#clock.wall() - now;
    if (Math.abs(aheadMs - this.#aheadMs) > CLOCK_STEP_MS && this.#clock.now() - now < MAX_READ_MS)
      this.#aheadMs = aheadMs;
    return new Date(this.#aheadMs + at).toISOString();
  }
}

// Finer than Date.now, so that the next service converts to the same times.
const systemWall = new WallClock(systemClock, performance.timeOrigin + performance.now() - systemClock.now());

/** Monotonic milliseconds as ISO 8601. */
export function toIsoTime(at: number): string {
  return systemWall.time(at);
}

/** Protects young segments from a wall clock that jumps ahead. */
import type { StoreSettings } from "../ipc/logger-protocol.ts";

const HOUR_MS = 3_600_000;
/** A larger step of the wall clock is a jump. Milliseconds. */
const JUMP_MS = 60_000;
/** A clock is believed when it has not jumped for this time, or for the time that lines are kept if that is shorter. Milliseconds. */
const STEADY_MS = HOUR_MS;

/** Whether the wall clock can be believed: a wrong one would delete at once what is young. */
export class SteadyClock {
  /** The difference of wall and monotonic clock after the last jump, and when that was. Milliseconds. */
  #offset = Number.NaN;
  #since = 0;

  /** What applies now: nothing is too old until the clock is believed. `wall`: milliseconds since 1970; `now`: monotonic milliseconds. */
  believed(settings: StoreSettings, wall: number, now: number): StoreSettings {
    const offset = wall - now;
    // Not a number before the first look.
    if (!(Math.abs(offset - this.#offset) <= JUMP_MS)) {
      this.#offset = offset;
      this.#since = now;
    }
    const isSteady = now - this.#since >= Math.min(settings.hours * HOUR_MS, STEADY_MS);
    return isSteady ? settings : { ...settings, hours: Number.POSITIVE_INFINITY };
  }
}

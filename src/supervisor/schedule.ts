/** Cron schedules: the next time, and a timer that survives jumps of the wall clock. */
import { Cron } from "croner";
import type { Clock } from "./ports.ts";
import type { MetTime } from "./snapshot.ts";

/** Longest sleep, after which a clock that was set or a machine that was suspended is noticed. Milliseconds. */
const LONGEST_SLEEP_MS = 30_000;

/** A backward step of the wall clock larger than this recomputes the next time. Milliseconds. */
const STEP_BACK_MS = 1_000;

export type ScheduleEvents = {
  /** `planned`: the scheduled time, in milliseconds since 1970. */
  readonly due: (planned: number) => void;
  /** The clock was set back, so the next time has changed. */
  readonly moved: () => void;
};

/**
 * The next time of a cron pattern after `from` (milliseconds since 1970), in the time zone of the host; undefined if there is
 * none. A pattern has five fields, six with seconds first, or seven with the year last.
 */
export function nextTime(pattern: string, from: number): number | undefined {
  return new Cron(pattern, { paused: true }).nextRun(new Date(from))?.getTime();
}

export function isPattern(pattern: string): boolean {
  try {
    return new Cron(pattern, { paused: true }) !== undefined;
  } catch {
    return false;
  }
}

/** Scheduled times that were missed, in milliseconds since 1970. */
export type Missed = { readonly first: number; readonly last: number; readonly times: number };

/** All times of a pattern from `first`, which is such a time, until `until`; counts up to `limit`. */
export function missedTimes(pattern: string, first: number, until: number, limit: number): Missed {
  const cron = new Cron(pattern, { paused: true });
  let missed: Missed = { first, last: first, times: 1 };
  while (missed.times < limit) {
    const next = cron.nextRun(new Date(missed.last))?.getTime();
    if (next === undefined || next > until) break;
    missed = { first, last: next, times: missed.times + 1 };
  }
  return missed;
}

/** Calls back at each time of a pattern until it is stopped. */
export class CronTimer {
  readonly #pattern: Cron;
  readonly #clock: Clock;
  readonly #on: ScheduleEvents;
  #next: number | undefined;
  /** The wall clock at the last check. */
  #checkedAt: number;
  /** The latest scheduled time that was called. */
  #met: MetTime | undefined;
  #drop: (() => void) | undefined;

  /** `met`: the latest time that an earlier timer of the same boot has called; the clock may have been set back since. */
  constructor(pattern: string, clock: Clock, on: ScheduleEvents, met?: MetTime) {
    this.#pattern = new Cron(pattern, { paused: true });
    this.#clock = clock;
    this.#on = on;
    this.#checkedAt = clock.wall();
    this.#met = met === undefined || met.at > clock.now() ? undefined : met;
    this.#next = this.#afterStepBack(this.#checkedAt);
    this.#sleep();
  }

  /** Milliseconds since 1970. */
  get next(): number | undefined {
    return this.#next;
  }

  /** The latest scheduled time that was called; undefined: none yet. */
  get met(): MetTime | undefined {
    return this.#met;
  }

  stop(): void {
    this.#drop?.();
    this.#drop = undefined;
    this.#next = undefined;
  }

  #after(from: number): number | undefined {
    return this.#pattern.nextRun(new Date(from))?.getTime();
  }

  /**
   * The next time after the clock was set back. A time is called a second time only if the monotonic clock has advanced by half
   * of the interval, and by a second: a daily job isn't run twice when the clock is corrected by an hour, but a job of every minute doesn't pause
   * for that hour.
   */
  #afterStepBack(wall: number): number | undefined {
    let next = this.#after(wall);
    while (next !== undefined && this.#met !== undefined && next <= this.#met.planned) {
      const following = this.#after(next);
      const really = this.#clock.now() - this.#met.at + next - wall;
      if (following === undefined || really >= Math.max((following - next) / 2, STEP_BACK_MS)) break;
      next = following;
    }
    return next;
  }

  #sleep(): void {
    if (this.#next === undefined) return;
    const wait = Math.min(LONGEST_SLEEP_MS, Math.max(0, this.#next - this.#clock.wall()));
    this.#drop = this.#clock.at(this.#clock.now() + wait, () => this.#wake());
  }

  #wake(): void {
    const wall = this.#clock.wall();
    const [planned, checkedAt] = [this.#next, this.#checkedAt];
    this.#checkedAt = wall;
    if (wall < checkedAt - STEP_BACK_MS) {
      this.#next = this.#afterStepBack(wall);
      this.#on.moved();
    } else if (planned !== undefined && wall >= planned) {
      this.#met = { planned, at: this.#clock.now() };
      this.#next = this.#after(wall);
      this.#on.due(planned);
    }
    if (this.#drop !== undefined) this.#sleep();
  }
}

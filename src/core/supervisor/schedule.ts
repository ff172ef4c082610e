/** Cron schedules: the next time, and a timer that survives jumps of the wall clock. */
import { Cron } from "croner";
import type { Clock } from "../base/timer-clock.ts";
import type { MetTime, MissedTimes } from "./snapshot.ts";

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

export type Schedule = {
  /** A cron pattern of five fields, six with seconds first, or seven with the year last. */
  readonly pattern: string;
  /** Its name, such as `Europe/Berlin`; absent: that of the host. */
  readonly timeZone?: string;
  /** Each time is called this much later. Milliseconds. */
  readonly delayMs?: number;
};

function cronOf({ pattern, timeZone }: Schedule): Cron {
  return new Cron(pattern, { paused: true, ...(timeZone === undefined ? {} : { timezone: timeZone }) });
}

/** The next time of a schedule after `from` (milliseconds since 1970), without its delay; undefined if there is none. */
export function nextTime(schedule: Schedule, from: number): number | undefined {
  return cronOf(schedule).nextRun(new Date(from))?.getTime();
}

/** The last time of a schedule until `until` (milliseconds since 1970), without its delay; undefined if there is none. */
export function latestTime(schedule: Schedule, until: number): number | undefined {
  // Croner leaves out the time that it is given.
  return cronOf(schedule)
    .previousRuns(1, new Date(until + 1))[0]
    ?.getTime();
}

/** Whether its pattern and its time zone are valid. */
export function isSchedule(schedule: Schedule): boolean {
  return succeeds(() => cronOf(schedule)) && (schedule.timeZone === undefined || isTimeZone(schedule.timeZone));
}

export function isTimeZone(name: string): boolean {
  return succeeds(() => new Intl.DateTimeFormat("en", { timeZone: name }));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** Whether both have the same times, apart from their delays. */
export function hasSameTimes(one: Schedule, other: Schedule | undefined): boolean {
  return one.pattern === other?.pattern && one.timeZone === other.timeZone;
}

/** All times of a schedule from `first`, which is such a time, until `until`; counts up to `limit`. */
export function missedTimes(schedule: Schedule, first: number, until: number, limit: number): MissedTimes {
  const cron = cronOf(schedule);
  let missed: MissedTimes = { first, last: first, times: 1 };
  while (missed.times < limit) {
    const next = cron.nextRun(new Date(missed.last))?.getTime();
    if (next === undefined || next > until) break;
    missed = { first, last: next, times: missed.times + 1 };
  }
  return missed;
}

/** What an earlier timer of the same times leaves to the next one. */
export type EarlierTimer = {
  /** The latest time that it has called, in the same boot; the clock may have been set back since. */
  readonly met?: MetTime | undefined;
  /** A time that it has not called, and that is called at once if it has passed. */
  readonly due?: number | undefined;
};

/** Calls back at each time of a schedule until it is stopped. Inside, the times are those of the pattern: the wall clock is read as if it were behind by the delay. */
export class CronTimer {
  readonly #pattern: Cron;
  readonly #delayMs: number;
  readonly #clock: Clock;
  readonly #on: ScheduleEvents;
  #next: number | undefined;
  /** The wall clock at the last check. */
  #checkedAt: number;
  /** The latest scheduled time that was called. */
  #met: MetTime | undefined;
  #drop: (() => void) | undefined;

  constructor(schedule: Schedule, clock: Clock, on: ScheduleEvents, { met, due }: EarlierTimer = {}) {
    this.#pattern = cronOf(schedule);
    this.#delayMs = schedule.delayMs ?? 0;
    this.#clock = clock;
    this.#on = on;
    this.#checkedAt = this.#wall;
    this.#met = met === undefined || met.at > clock.now() ? undefined : met;
    this.#next = due !== undefined && due <= this.#checkedAt ? due : this.#afterStepBack(this.#checkedAt);
    this.#sleep();
  }

  /** When it calls next; milliseconds since 1970. */
  get next(): number | undefined {
    return this.#next === undefined ? undefined : this.#next + this.#delayMs;
  }

  /** The time of the pattern for that call. */
  get planned(): number | undefined {
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

  get #wall(): number {
    return this.#clock.wall() - this.#delayMs;
  }

  #after(from: number): number | undefined {
    return this.#pattern.nextRun(new Date(from))?.getTime();
  }

  /**
   * The next time after the clock was set back. A time is called a second time only if the monotonic clock has advanced
   * by half of the interval, and by a second: a daily job isn't run twice when the clock is corrected by an hour, but a
   * job of every minute doesn't pause for that hour.
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
    const wait = Math.min(LONGEST_SLEEP_MS, Math.max(0, this.#next - this.#wall));
    this.#drop = this.#clock.at(this.#clock.now() + wait, () => this.#wake());
  }

  #wake(): void {
    const wall = this.#wall;
    const planned = this.#next;
    const checkedAt = this.#checkedAt;
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

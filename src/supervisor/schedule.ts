/** Cron schedules: when is the next time, and a timer that survives jumps of the wall clock. */
import { Cron } from "croner";
import type { Clock } from "./ports.ts";

/** Nothing sleeps longer, so that a clock that was set or a machine that slept is noticed. Milliseconds. */
const LONGEST_SLEEP_MS = 30_000;

/** A step back of the wall clock by more than this plans anew. Milliseconds. */
const STEP_BACK_MS = 1_000;

export type Events = {
  /** When it was planned for, in milliseconds since 1970. */
  readonly due: (planned: number) => void;
  /** The clock was set back: the next time is another now. */
  readonly moved: () => void;
};

/**
 * The next time that a cron pattern names after `from` (milliseconds since 1970), in the time zone of the host;
 * undefined when there is none. Five fields, or six with seconds in front.
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

/** Times that were passed over. */
export type Missed = { readonly first: number; readonly last: number; readonly times: number };

/** All times of a pattern from `first`, which is one, until `until`; of very many only the first `limit` are counted. */
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

/** Calls back at each time of a pattern until it is dropped. */
export class Schedule {
  readonly #pattern: Cron;
  readonly #clock: Clock;
  readonly #on: Events;
  #next: number | undefined;
  /** The wall clock when it was looked at last. */
  #seen: number;
  /** The latest time that was met, and when that was by the clock that can't be set. */
  #met: { readonly planned: number; readonly at: number } | undefined;
  #drop: (() => void) | undefined;

  constructor(pattern: string, clock: Clock, on: Events) {
    this.#pattern = new Cron(pattern, { paused: true });
    this.#clock = clock;
    this.#on = on;
    this.#seen = clock.wall();
    this.#next = this.#after(this.#seen);
    this.#sleep();
  }

  /** Milliseconds since 1970. */
  get next(): number | undefined {
    return this.#next;
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
   * The next time after a step back. A time that was met already is met again only if the clock has really gone on for half
   * of what lies between two times: a daily job isn't run twice by a clock that is corrected by an hour, a job that runs
   * each minute doesn't fall silent for that hour.
   */
  #afterStepBack(wall: number): number | undefined {
    let next = this.#after(wall);
    while (next !== undefined && this.#met !== undefined && next <= this.#met.planned) {
      const following = this.#after(next);
      const really = this.#clock.now() - this.#met.at + next - wall;
      if (following === undefined || really >= (following - next) / 2) break;
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
    const [planned, seen] = [this.#next, this.#seen];
    this.#seen = wall;
    if (wall < seen - STEP_BACK_MS) {
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

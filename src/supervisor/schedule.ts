/** Cron schedules: when is the next time, and a timer that survives jumps of the wall clock. */
import { Cron } from "croner";
import type { Clock } from "./ports.ts";

/** Nothing sleeps longer, so that a clock that was set or a machine that slept is noticed. Milliseconds. */
const LONGEST_SLEEP_MS = 30_000;

/** A step back of the wall clock by more than this plans anew. Milliseconds. */
const STEP_BACK_MS = 1_000;

export type Occurrence = {
  /** When it was planned for, in milliseconds since 1970. */
  readonly planned: number;
};

/**
 * The next time that a cron pattern names after `from` (milliseconds since 1970), in the time zone of the host;
 * undefined when there is none. Five fields, or six with seconds in front.
 */
export function nextTime(pattern: string, from: number): number | undefined {
  return new Cron(pattern, { paused: true }).nextRun(new Date(from))?.getTime();
}

/** Calls back at each time of a pattern until it is dropped. */
export class Schedule {
  readonly #pattern: Cron;
  readonly #clock: Clock;
  readonly #call: (occurrence: Occurrence) => void;
  #next: number | undefined;
  #seen: number;
  #drop: (() => void) | undefined;

  constructor(pattern: string, clock: Clock, call: (occurrence: Occurrence) => void) {
    this.#pattern = new Cron(pattern, { paused: true });
    this.#clock = clock;
    this.#call = call;
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

  #sleep(): void {
    if (this.#next === undefined) return;
    const wait = Math.min(LONGEST_SLEEP_MS, Math.max(0, this.#next - this.#clock.wall()));
    this.#drop = this.#clock.at(this.#clock.now() + wait, () => this.#wake());
  }

  #wake(): void {
    const wall = this.#clock.wall();
    const planned = this.#next;
    if (wall < this.#seen - STEP_BACK_MS) this.#next = this.#after(wall);
    else if (planned !== undefined && wall >= planned) {
      this.#next = this.#after(wall);
      this.#call({ planned });
    }
    this.#seen = wall;
    if (this.#drop !== undefined) this.#sleep();
  }
}

/** The schedules of a process: the times at which it starts, and at which it is terminated. */
import type { Clock } from "./ports.ts";
import { CronTimer } from "./schedule.ts";
import type { MetTimes, PlannedTime } from "./snapshot.ts";
import type { ScheduledAction } from "./states.ts";

export const KINDS: readonly ScheduledAction[] = ["start", "terminate"];

/** Cron patterns; absent: none. */
export type Patterns = Readonly<Partial<Record<ScheduledAction, string>>>;

export type TimetableEvents = {
  readonly due: (kind: ScheduledAction, planned: number) => void;
  /** The clock was set, so the next times have changed. */
  readonly moved: () => void;
};

export class Timetable {
  readonly #clock: Clock;
  readonly #on: TimetableEvents;
  /** What the timetable of an earlier service has called. */
  readonly #before: MetTimes;
  readonly #schedules = new Map<ScheduledAction, { readonly pattern: string; readonly schedule: CronTimer }>();

  constructor(clock: Clock, on: TimetableEvents, before: MetTimes = {}) {
    this.#clock = clock;
    this.#on = on;
    this.#before = before;
  }

  get planned(): PlannedTime {
    return this.#each(({ next }) => next);
  }

  /** The latest times that were called. */
  get met(): MetTimes {
    return this.#each(({ met }) => met);
  }

  /** Next time of the schedule, in milliseconds since 1970. */
  next(kind: ScheduledAction): number | undefined {
    return this.#schedules.get(kind)?.schedule.next;
  }

  /** Applies other patterns; a schedule whose pattern is unchanged continues. */
  set(patterns: Patterns): void {
    for (const kind of KINDS) {
      const pattern = patterns[kind];
      const known = this.#schedules.get(kind);
      if (known?.pattern === pattern) continue;
      known?.schedule.stop();
      this.#schedules.delete(kind);
      if (pattern === undefined) continue;
      const due = (planned: number): void => this.#on.due(kind, planned);
      this.#schedules.set(kind, {
        pattern,
        schedule: new CronTimer(pattern, this.#clock, { due, moved: this.#on.moved }, this.#before[kind]),
      });
    }
  }

  #each<Value>(select: (schedule: CronTimer) => Value | undefined): Readonly<Partial<Record<ScheduledAction, Value>>> {
    const values = [...this.#schedules].map(([kind, { schedule }]) => [kind, select(schedule)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<Record<ScheduledAction, Value>>;
  }

  /** Ends all schedules; no timer is left. */
  stop(): void {
    this.set({});
  }
}

export function isSame(one: PlannedTime, other: PlannedTime): boolean {
  return KINDS.every((kind) => one[kind] === other[kind]);
}

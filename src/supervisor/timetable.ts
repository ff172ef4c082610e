/** The schedules of a process: the times at which it starts, and at which it is terminated. */
import type { Clock } from "./ports.ts";
import { CronTimer } from "./schedule.ts";
import type { PlannedTime } from "./snapshot.ts";
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
  readonly #schedules = new Map<ScheduledAction, { readonly pattern: string; readonly schedule: CronTimer }>();

  constructor(clock: Clock, on: TimetableEvents) {
    this.#clock = clock;
    this.#on = on;
  }

  get planned(): PlannedTime {
    const next = [...this.#schedules].flatMap(([kind, { schedule }]) => (schedule.next === undefined ? [] : [[kind, schedule.next]]));
    return Object.fromEntries(next) as PlannedTime;
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
      this.#schedules.set(kind, { pattern, schedule: new CronTimer(pattern, this.#clock, { due, moved: this.#on.moved }) });
    }
  }

  /** Ends all schedules; no timer is left. */
  stop(): void {
    this.set({});
  }
}

export function isSame(one: PlannedTime, other: PlannedTime): boolean {
  return KINDS.every((kind) => one[kind] === other[kind]);
}

/** The schedules of a process: the times at which it starts, and at which it is terminated. */
import type { Clock } from "../base/timer-clock.ts";
import { CronTimer, type EarlierTimer, hasSameTimes, type Schedule } from "./schedule.ts";
import type { MetTimes, PlannedTime } from "./snapshot.ts";
import type { ScheduledAction } from "./states.ts";

export const KINDS: readonly ScheduledAction[] = ["start", "terminate"];

/** Absent: none. */
export type Schedules = Readonly<Partial<Record<ScheduledAction, Schedule>>>;

/** What the timetable of an earlier service has left. */
export type EarlierTimetable = {
  /** The latest times that it has called. */
  readonly met?: MetTimes | undefined;
  /** Times that were missed and are made up for. */
  readonly due?: PlannedTime;
};

export type TimetableEvents = {
  readonly due: (kind: ScheduledAction, planned: number) => void;
  /** The clock was set, so the next times have changed. */
  readonly moved: () => void;
};

export class Timetable {
  readonly #clock: Clock;
  readonly #on: TimetableEvents;
  readonly #before: EarlierTimetable;
  readonly #timers = new Map<ScheduledAction, { readonly schedule: Schedule; readonly timer: CronTimer }>();

  constructor(clock: Clock, on: TimetableEvents, before: EarlierTimetable = {}) {
    this.#clock = clock;
    this.#on = on;
    this.#before = before;
  }

  /** The next times of the patterns, without delays. */
  get planned(): PlannedTime {
    return this.#each(({ planned }) => planned);
  }

  /** The latest times that were called. */
  get met(): MetTimes {
    return this.#each(({ met }) => met);
  }

  /** Next time of the schedule, in milliseconds since 1970. */
  next(kind: ScheduledAction): number | undefined {
    return this.#timers.get(kind)?.timer.next;
  }

  /** Applies other schedules. One that is unchanged continues; one that only has another delay calls each time once. */
  set(schedules: Schedules): void {
    for (const kind of KINDS) {
      const schedule = schedules[kind];
      const known = this.#timers.get(kind);
      if (
        schedule !== undefined &&
        hasSameTimes(schedule, known?.schedule) &&
        schedule.delayMs === known?.schedule.delayMs
      )
        continue;
      const before = this.#leftBy(kind, schedule);
      known?.timer.stop();
      this.#timers.delete(kind);
      if (schedule === undefined) continue;
      const due = (planned: number): void => this.#on.due(kind, planned);
      this.#timers.set(kind, {
        schedule,
        timer: new CronTimer(schedule, this.#clock, { due, moved: this.#on.moved }, before),
      });
    }
  }

  /** What the timer before has left: the one that is replaced, or that of an earlier service. */
  #leftBy(kind: ScheduledAction, schedule: Schedule | undefined): EarlierTimer {
    const known = this.#timers.get(kind);
    if (known === undefined) return { met: this.#before.met?.[kind], due: this.#before.due?.[kind] };
    const { met, planned } = known.timer;
    return schedule !== undefined && hasSameTimes(schedule, known.schedule) ? { met, due: planned } : { met };
  }

  #each<Value>(select: (timer: CronTimer) => Value | undefined): Readonly<Partial<Record<ScheduledAction, Value>>> {
    const values = [...this.#timers].map(([kind, { timer }]) => [kind, select(timer)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<
      Record<ScheduledAction, Value>
    >;
  }

  /** Ends all schedules; no timer is left. */
  stop(): void {
    this.set({});
  }
}

export function isSame(one: PlannedTime, other: PlannedTime): boolean {
  return KINDS.every((kind) => one[kind] === other[kind]);
}

/** The schedules of one process: when it starts, and when it is terminated. */
import type { Clock } from "./ports.ts";
import { Schedule } from "./schedule.ts";

export type Kind = "start" | "terminate";

export const KINDS: readonly Kind[] = ["start", "terminate"];

/** Cron patterns; absent: none. */
export type Patterns = Readonly<Partial<Record<Kind, string>>>;

/** The next times, in milliseconds since 1970. */
export type Planned = Readonly<Partial<Record<Kind, number>>>;

export type Events = {
  readonly due: (kind: Kind, planned: number) => void;
  /** The clock was set: the next times are others now. */
  readonly moved: () => void;
};

export class Timetable {
  readonly #clock: Clock;
  readonly #on: Events;
  readonly #schedules = new Map<Kind, { readonly pattern: string; readonly schedule: Schedule }>();

  constructor(clock: Clock, on: Events) {
    this.#clock = clock;
    this.#on = on;
  }

  get planned(): Planned {
    const next = [...this.#schedules].flatMap(([kind, { schedule }]) => (schedule.next === undefined ? [] : [[kind, schedule.next]]));
    return Object.fromEntries(next) as Planned;
  }

  /** Milliseconds since 1970. */
  next(kind: Kind): number | undefined {
    return this.#schedules.get(kind)?.schedule.next;
  }

  /** A schedule whose pattern is the same goes on. */
  set(patterns: Patterns): void {
    for (const kind of KINDS) {
      const pattern = patterns[kind];
      const known = this.#schedules.get(kind);
      if (known?.pattern === pattern) continue;
      known?.schedule.stop();
      this.#schedules.delete(kind);
      if (pattern === undefined) continue;
      const due = (planned: number): void => this.#on.due(kind, planned);
      this.#schedules.set(kind, { pattern, schedule: new Schedule(pattern, this.#clock, { due, moved: this.#on.moved }) });
    }
  }

  /** All over: no timer is left. */
  stop(): void {
    this.set({});
  }
}

export function isSame(one: Planned, other: Planned): boolean {
  return KINDS.every((kind) => one[kind] === other[kind]);
}

/** The bounds of a cluster's size at a time: each schedule sets them until another one does. */
import { latestTime, nextTime, type Schedule } from "../supervisor/schedule.ts";
import type { ScalePolicy } from "./scale-controller.ts";

export type SizeBounds = { readonly min: number; readonly max: number };

/** Absent: the bound of the cluster. */
export type SizeSchedule = Pick<Schedule, "pattern" | "timeZone"> & Partial<SizeBounds>;

/** How a cluster is scaled. */
export type ScaleSpec = ScalePolicy & { readonly schedules?: readonly SizeSchedule[] };

/** The most instances that it may have at any time. */
export function mostOf({ max, schedules = [] }: ScaleSpec): number {
  return Math.max(max, ...schedules.map((schedule) => schedule.max ?? 0));
}

export type ScheduledBounds = SizeBounds & {
  /** The schedule that has set them; absent: none yet. */
  readonly by?: SizeSchedule;
  readonly next?: NextBounds;
};

/** What a schedule sets next. */
export type NextBounds = SizeBounds & {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly timeZone?: string;
};

export function boundsAt(bounds: SizeBounds, schedules: readonly SizeSchedule[], wall: number): ScheduledBounds {
  const { by, ...now } = latestAt(bounds, schedules, wall);
  const times = schedules.flatMap((schedule) => nextTime(schedule, wall) ?? []);
  const at = Math.min(...times);
  const then = times.length === 0 ? undefined : latestAt(bounds, schedules, at);
  const zone = then?.by?.timeZone;
  return {
    ...now,
    ...(by !== undefined && { by }),
    ...(then !== undefined && {
      next: { at, min: then.min, max: then.max, ...(zone !== undefined && { timeZone: zone }) },
    }),
  };
}

function latestAt(
  { min, max }: SizeBounds,
  schedules: readonly SizeSchedule[],
  wall: number,
): SizeBounds & { readonly by: SizeSchedule | undefined } {
  const times = schedules.flatMap((schedule) => {
    const at = latestTime(schedule, wall);
    return at === undefined ? [] : [{ schedule, at }];
  });
  // Of two at the same time, the one that is written below.
  const latest = times.reduce<(typeof times)[number] | undefined>(
    (best, each) => (best === undefined || each.at >= best.at ? each : best),
    undefined,
  );
  const by = latest?.schedule;
  return { min: by?.min ?? min, max: by?.max ?? max, by };
}

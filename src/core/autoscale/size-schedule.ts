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
  /** When one sets them next; milliseconds since 1970. */
  readonly until?: number;
};

export function boundsAt(bounds: SizeBounds, schedules: readonly SizeSchedule[], wall: number): ScheduledBounds {
  const { min, max } = bounds;
  const times = schedules.flatMap((schedule) => {
    const at = latestTime(schedule, wall);
    return at === undefined ? [] : [{ schedule, at }];
  });
  // Of two at the same time, the one that is written below.
  const latest = times.reduce<(typeof times)[number] | undefined>(
    (best, each) => (best === undefined || each.at >= best.at ? each : best),
    undefined,
  );
  const next = schedules.flatMap((schedule) => nextTime(schedule, wall) ?? []);
  const by = latest?.schedule;
  return {
    min: by?.min ?? min,
    max: by?.max ?? max,
    ...(by !== undefined && { by }),
    ...(next.length > 0 && { until: Math.min(...next) }),
  };
}

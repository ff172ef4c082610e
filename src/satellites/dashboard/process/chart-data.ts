/** Points of several instances on one time axis, stacked. Pure. */
import type { MetricPoint } from "../../../core/contract/records.ts";

export type ChartKind = "cpuPercent" | "memoryBytes" | "instances";

/** Seconds since 1970, and for each series its values, null where there is none. The last series is the sum of all. */
export type ChartData = { readonly times: readonly number[]; readonly series: readonly (readonly (number | null)[])[] };

/** Each series is the sum of those up to it, so that areas lie on each other. `step`: seconds between points; a longer pause is a gap. */
export function stackedData(instances: readonly (readonly MetricPoint[])[], kind: ChartKind, step: number): ChartData {
  const byTime = instances.map((points) => new Map(points.map((point) => [bucket(point.time, step), point[kind]])));
  const known = [...new Set(byTime.flatMap((points) => [...points.keys()]))].sort((one, other) => one - other);
  const times = known.flatMap((time, index) => {
    const before = known[index - 1];
    return before !== undefined && time - before > 3 * step ? [before + step, time] : [time];
  });
  const sums = times.map(() => 0);
  const series = byTime.map((points) =>
    times.map((time, index) => {
      if (!byTime.some((each) => each.has(time))) return null;
      sums[index] = (sums[index] ?? 0) + (points.get(time) ?? 0);
      return sums[index] ?? 0;
    }),
  );
  return { times, series };
}

function bucket(time: string, step: number): number {
  return Math.round(Date.parse(time) / 1_000 / step) * step;
}

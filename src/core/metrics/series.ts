/** Time series of CPU and memory: recent points in memory, older ones on disk. */
import type { MetricPoint, MetricQuery } from "../contract/records.ts";
import { type DownsampledPoint, Downsampler, downsampled, summed } from "./downsample.ts";
import { type Sample, STEP_MS } from "./sampler.ts";
import { SeriesStore, type SeriesStoreOptions } from "./series-store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Points of each process in memory: five minutes. */
const RECENT = 60;

export class MetricSeries {
  readonly #store: SeriesStore;
  readonly #hours: () => number;
  readonly #recent = new Map<string, DownsampledPoint[]>();
  readonly #minute = new Downsampler(MINUTE_MS, (at, points) => this.#store.append("minute", at, points));
  readonly #fine = new Downsampler(STEP_MS, (at, points) => this.#keep(at, points));

  constructor(options: SeriesStoreOptions) {
    this.#store = new SeriesStore(options);
    this.#hours = options.hours;
  }

  /** `at`: milliseconds since 1970. */
  add(samples: ReadonlyMap<string, Sample>, at: number): void {
    const points = new Map<string, DownsampledPoint>();
    for (const [id, { cpuPercent, memoryBytes, processes }] of samples)
      if (cpuPercent !== undefined) points.set(id, { at, cpuPercent, memoryBytes, processes });
    this.#fine.add(points, at);
  }

  /** The points of the last minutes, oldest first. */
  recent(id: string, now = Date.now()): readonly MetricPoint[] {
    return this.#recentOf(id)
      .filter(({ at }) => now - at <= RECENT * STEP_MS)
      .map(toPoint);
  }

  /** Points of a process, or the sum over all instances of a cluster. Default: the last hour. */
  async read(ids: readonly string[], query: MetricQuery, now = Date.now()): Promise<readonly MetricPoint[]> {
    const { from = now - HOUR_MS, to = Number.POSITIVE_INFINITY, stepSeconds } = query;
    const stored =
      this.#hours() === 0
        ? new Map(ids.map((id) => [id, this.#recentOf(id)]))
        : withCurrent(await this.#store.read(ids, from, to, now), (id) => this.#recentOf(id));
    const selected = [...stored.values()].map((points) => points.filter(({ at }) => at >= from && at < to));
    const stepMs = stepSeconds === undefined ? undefined : Math.max(1, stepSeconds) * 1_000;
    const [only = []] = selected;
    if (selected.length === 1) return (stepMs === undefined ? only : downsampled(only, stepMs)).map(toPoint);
    return summed(selected, stepMs ?? MINUTE_MS).map(toPoint);
  }

  /** The process was removed. */
  remove(id: string): void {
    this.#recent.delete(id);
  }

  #keep(at: number, points: ReadonlyMap<string, DownsampledPoint>): void {
    for (const [id, point] of points) {
      const recent = this.#recent.get(id) ?? [];
      if (recent.push(point) > RECENT) recent.shift();
      this.#recent.set(id, recent);
    }
    this.#store.append("fine", at, points);
    this.#minute.add(points, at);
  }

  #recentOf(id: string): readonly DownsampledPoint[] {
    const current = this.#fine.current(id);
    return [...(this.#recent.get(id) ?? []), ...(current === undefined ? [] : [current])];
  }
}

/** Adds the points in memory that are not stored yet. */
function withCurrent(
  stored: ReadonlyMap<string, readonly DownsampledPoint[]>,
  recent: (id: string) => readonly DownsampledPoint[],
): ReadonlyMap<string, readonly DownsampledPoint[]> {
  return new Map(
    [...stored].map(([id, points]) => {
      const last = points.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
      return [id, [...points, ...recent(id).filter(({ at }) => at > last)]];
    }),
  );
}

function toPoint({ at, cpuPercent, ...more }: DownsampledPoint): MetricPoint {
  return { time: new Date(at).toISOString(), cpuPercent: Math.round(cpuPercent * 10) / 10, ...more };
}

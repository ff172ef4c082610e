/** The curves of CPU and memory: from samples to points, in memory for some minutes and on disk for longer. */
import type { MetricPoint, MetricQuery } from "../contract/records.ts";
import { Gatherer, gathered, type Point, summed } from "./gatherer.ts";
import { MetricStore, type MetricStoreOptions } from "./metric-store.ts";
import { type Sample, STEP_MS } from "./sampler.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** So many points of each process stay in memory: five minutes. */
const RECENT = 60;

export class Metrics {
  readonly #store: MetricStore;
  readonly #hours: () => number;
  readonly #recent = new Map<string, Point[]>();
  readonly #minute = new Gatherer(MINUTE_MS, (at, points) => this.#store.append("minute", at, points));
  readonly #fine = new Gatherer(STEP_MS, (at, points) => this.#keep(at, points));

  constructor(options: MetricStoreOptions) {
    this.#store = new MetricStore(options);
    this.#hours = options.hours;
  }

  /** `at`: milliseconds since 1970. */
  add(samples: ReadonlyMap<string, Sample>, at: number): void {
    const points = new Map<string, Point>();
    for (const [id, { cpuPercent, memoryBytes, processes }] of samples)
      if (cpuPercent !== undefined) points.set(id, { at, cpuPercent, memoryBytes, processes });
    this.#fine.add(points, at);
  }

  /** The last minutes, oldest first. */
  recent(id: string, now = Date.now()): readonly MetricPoint[] {
    return this.#recentOf(id)
      .filter(({ at }) => now - at <= RECENT * STEP_MS)
      .map(shown);
  }

  /** Of one process, or of all instances of a cluster together. Without times the last hour. */
  async read(ids: readonly string[], query: MetricQuery, now = Date.now()): Promise<readonly MetricPoint[]> {
    const { from = now - HOUR_MS, to = Number.POSITIVE_INFINITY, stepSeconds } = query;
    const stored =
      this.#hours() === 0
        ? new Map(ids.map((id) => [id, this.#recentOf(id)]))
        : withCurrent(await this.#store.read(ids, from, to, now), (id) => this.#recentOf(id));
    const asked = [...stored.values()].map((points) => points.filter(({ at }) => at >= from && at < to));
    const stepMs = stepSeconds === undefined ? undefined : Math.max(1, stepSeconds) * 1_000;
    const [only = []] = asked;
    if (asked.length === 1) return (stepMs === undefined ? only : gathered(only, stepMs)).map(shown);
    return summed(asked, stepMs ?? MINUTE_MS).map(shown);
  }

  /** The process is gone for good. */
  forget(id: string): void {
    this.#recent.delete(id);
  }

  #keep(at: number, points: ReadonlyMap<string, Point>): void {
    for (const [id, point] of points) {
      const recent = this.#recent.get(id) ?? [];
      if (recent.push(point) > RECENT) recent.shift();
      this.#recent.set(id, recent);
    }
    this.#store.append("fine", at, points);
    this.#minute.add(points, at);
  }

  #recentOf(id: string): readonly Point[] {
    const current = this.#fine.current(id);
    return [...(this.#recent.get(id) ?? []), ...(current === undefined ? [] : [current])];
  }
}

/** What is not stored yet is in memory. */
function withCurrent(
  stored: ReadonlyMap<string, readonly Point[]>,
  recent: (id: string) => readonly Point[],
): ReadonlyMap<string, readonly Point[]> {
  return new Map(
    [...stored].map(([id, points]) => {
      const last = points.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
      return [id, [...points, ...recent(id).filter(({ at }) => at > last)]];
    }),
  );
}

function shown({ at, cpuPercent, memoryBytes, processes }: Point): MetricPoint {
  return { time: new Date(at).toISOString(), cpuPercent: Math.round(cpuPercent * 10) / 10, memoryBytes, processes };
}

/** Combines points to one per step: the mean of CPU, the maximum of memory. */

export type DownsampledPoint = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly processes: number;
  /** How many it is the sum of. */
  readonly instances?: number;
};

type Sum = { count: number; cpuPercent: number; memoryBytes: number; processes: number };

/** Combines points that arrive in order of time. */
export class Downsampler {
  readonly #stepMs: number;
  readonly #done: (at: number, points: ReadonlyMap<string, DownsampledPoint>) => void;
  #at: number | undefined;
  #sums = new Map<string, Sum>();

  /** `done` gets the points of a step when the next step begins. */
  constructor(stepMs: number, done: (at: number, points: ReadonlyMap<string, DownsampledPoint>) => void) {
    this.#stepMs = stepMs;
    this.#done = done;
  }

  add(points: ReadonlyMap<string, DownsampledPoint>, at: number): void {
    const step = at - (at % this.#stepMs);
    if (step !== this.#at) this.#finish(step);
    for (const [id, point] of points) {
      const sum = this.#sums.get(id);
      if (sum === undefined) this.#sums.set(id, sumOf(point));
      else addTo(sum, point);
    }
  }

  /** The point of the current step, so far. */
  current(id: string): DownsampledPoint | undefined {
    const sum = this.#sums.get(id);
    return sum === undefined ? undefined : pointOf(this.#at ?? 0, sum);
  }

  #finish(next: number): void {
    const at = this.#at;
    const sums = this.#sums;
    this.#at = next;
    this.#sums = new Map();
    if (at !== undefined && sums.size > 0)
      this.#done(at, new Map([...sums].map(([id, sum]) => [id, pointOf(at, sum)])));
  }
}

/** Combines points that are in order of time. */
export function downsampled(points: readonly DownsampledPoint[], stepMs: number): readonly DownsampledPoint[] {
  const steps = new Map<number, Sum>();
  for (const point of points) {
    const at = point.at - (point.at % stepMs);
    const sum = steps.get(at);
    if (sum === undefined) steps.set(at, sumOf(point));
    else addTo(sum, point);
  }
  return [...steps].map(([at, sum]) => pointOf(at, sum));
}

/** Adds up the instances of a cluster at each step. */
export function summed(series: readonly (readonly DownsampledPoint[])[], stepMs: number): readonly DownsampledPoint[] {
  const steps = new Map<number, DownsampledPoint>();
  for (const points of series)
    for (const point of downsampled(points, stepMs)) {
      const { cpuPercent = 0, memoryBytes = 0, processes = 0, instances = 0 } = steps.get(point.at) ?? {};
      steps.set(point.at, {
        at: point.at,
        cpuPercent: cpuPercent + point.cpuPercent,
        memoryBytes: memoryBytes + point.memoryBytes,
        processes: processes + point.processes,
        instances: instances + 1,
      });
    }
  return [...steps.values()].sort((one, other) => one.at - other.at);
}

function sumOf({ cpuPercent, memoryBytes, processes }: DownsampledPoint): Sum {
  return { count: 1, cpuPercent, memoryBytes, processes };
}

function addTo(sum: Sum, point: DownsampledPoint): void {
  sum.count++;
  sum.cpuPercent += point.cpuPercent;
  sum.memoryBytes = Math.max(sum.memoryBytes, point.memoryBytes);
  sum.processes = Math.max(sum.processes, point.processes);
}

function pointOf(at: number, { count, cpuPercent, memoryBytes, processes }: Sum): DownsampledPoint {
  return { at, cpuPercent: cpuPercent / count, memoryBytes, processes };
}

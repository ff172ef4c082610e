/** Whether a value grows: the slope of a straight line through several lives of a process, and how sure it is. */

/** `x`: seconds. */
export type Point = { readonly x: number; readonly y: number };

/** Per hour. With the confidence of 99 % the slope is above `low`, and with the same below `high`. */
export type Trend = { readonly slope: number; readonly low: number; readonly high: number; readonly blocks: number };

/** `grows`: surely more than the limit. `flat`: surely less. `unknown`: the run was too short, or the values vary too much, to say. */
export type Growth = "grows" | "flat" | "unknown";

/** Samples of a block are combined into one, by their median: neighbours depend on each other. Seconds. */
const BLOCK_S = 30;
/** A life with fewer says nothing. */
const LEAST_BLOCKS = 4;
/** Standard normal quantile for 99 %. */
const Z = 2.326;
const HOUR_S = 3_600;

/**
 * Each life begins at another level, so the line is fitted to the deviations from the means of each life (a regression
 * with fixed effects). undefined: no life is long enough.
 *
 * @param warmUpSeconds beginning of each life that doesn't count
 */
export function trendOf(lives: readonly (readonly Point[])[], warmUpSeconds: number): Trend | undefined {
  const blocks = lives.map((life) => blocksOf(life, warmUpSeconds)).filter(({ length }) => length >= LEAST_BLOCKS);
  const points = blocks.flatMap(aroundMean);
  const freedom = points.length - blocks.length - 1;
  if (freedom < 2) return undefined;
  const sum = (of: (point: Point) => number): number => points.reduce((total, point) => total + of(point), 0);
  const spread = sum(({ x }) => x * x);
  const slope = sum(({ x, y }) => x * y) / spread;
  const error = Math.sqrt(sum(({ x, y }) => (y - slope * x) ** 2) / freedom / spread);
  const margin = studentQuantile(freedom) * error;
  return {
    slope: slope * HOUR_S,
    low: (slope - margin) * HOUR_S,
    high: (slope + margin) * HOUR_S,
    blocks: points.length,
  };
}

export function growthOf({ low, high }: Trend, limitPerHour: number): Growth {
  if (low > limitPerHour) return "grows";
  return high <= limitPerHour ? "flat" : "unknown";
}

function blocksOf(life: readonly Point[], warmUpSeconds: number): readonly Point[] {
  const begin = (life[0]?.x ?? 0) + warmUpSeconds;
  const groups = new Map<number, Point[]>();
  for (const point of life) {
    if (point.x < begin) continue;
    const number = Math.floor((point.x - begin) / BLOCK_S);
    groups.set(number, [...(groups.get(number) ?? []), point]);
  }
  return [...groups.values()].map((group) => ({
    x: median(group.map(({ x }) => x)),
    y: median(group.map(({ y }) => y)),
  }));
}

function aroundMean(points: readonly Point[]): readonly Point[] {
  const mean = (of: (point: Point) => number): number =>
    points.reduce((total, point) => total + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  return points.map((point) => ({ x: point.x - x, y: point.y - y }));
}

/** NaN: no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Of Student's distribution, from the normal one by the expansion of Cornish and Fisher; good to 2 % from two degrees of freedom on. */
function studentQuantile(freedom: number): number {
  const terms = [
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
  ];
  return terms.reduce((sum, term, index) => sum + term / freedom ** (index + 1), Z);
}

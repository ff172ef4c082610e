/** The verdict on the samples: nothing may grow while a part lives, nor from rest to rest, nor beyond its bound. */
import { PARTS, type PartName, type PartSample, type Sample, STATE_FOLDERS, type StateFolder } from "./soak-sampler.ts";
import { leastPerHour, type Span } from "./soak-schedule.ts";
import { type Growth, growthOf, median, type Point, type Trend, trendOf } from "./trend.ts";

const MB = 1e6;

type Measure = {
  readonly name: string;
  readonly unit: string;
  readonly of: (part: PartSample) => number | undefined;
  /** Growth that is allowed, in an hour of a life. */
  readonly perHour: number;
  readonly warmUpSeconds: number;
  /** From the first rest to the last one. */
  readonly betweenRests: number;
};

/** Five minutes of metrics, the last 1000 events and the last runs stay in memory; until they are complete, memory grows. */
const FILLING_S = 600;
/** The first runs are started, the pool of FIFOs gets its size, and code is compiled. */
const STARTING_S = 180;

/** Half of what one leaked piece at each of the rarest things would give. */
const PIECES_PER_HOUR = leastPerHour() / 2;

/** The keeper makes four pairs of FIFOs beyond those that it needs, and the logger holds them open. */
const SPARE_FIFOS = 8;

const pieces = (name: "threads" | "descriptors" | "sockets" | "pipes" | "timers", betweenRests: number): Measure => ({
  name,
  unit: "",
  of: (part) => part[name],
  perHour: PIECES_PER_HOUR,
  warmUpSeconds: STARTING_S,
  betweenRests,
});

export const MEASURES: readonly Measure[] = [
  {
    name: "live heap",
    unit: "MB",
    of: ({ heap }) => scaled(heap),
    perHour: 1,
    warmUpSeconds: FILLING_S,
    betweenRests: 1.5,
  },
  { name: "memory", unit: "MB", of: ({ rss }) => scaled(rss), perHour: 8, warmUpSeconds: FILLING_S, betweenRests: 10 },
  pieces("descriptors", SPARE_FIFOS + 3),
  pieces("sockets", 3),
  pieces("pipes", SPARE_FIFOS),
  pieces("threads", 1),
  pieces("timers", 5),
];

/** What each folder of the state folder may have, in MB. */
const BOUNDS: Readonly<Record<StateFolder, number>> = { logs: 20, incidents: 22, metrics: 4, run: 4, other: 1 };
const MOST_FILES = 500;
const MOST_FIFOS = 120;

export type Row = Trend & {
  readonly what: string;
  readonly unit: string;
  readonly limit: number;
  readonly growth: Growth;
};
export type Level = {
  readonly what: string;
  readonly unit: string;
  readonly first: number;
  readonly last: number;
  readonly limit: number;
};
export type Assessment = {
  readonly rows: readonly Row[];
  readonly levels: readonly Level[];
  readonly findings: readonly string[];
};

export function assessSamples(samples: readonly Sample[], spans: readonly Span[]): Assessment {
  const rows = PARTS.flatMap((part) => MEASURES.flatMap((measure) => rowOf(part, measure, samples)));
  const levels = levelsOf(samples, spans);
  const grown = rows.filter(({ growth }) => growth === "grows");
  const findings = [
    ...grown.map(
      ({ what, slope, unit, limit }) => `growth: ${what} by ${slope.toFixed(2)} ${unit} an hour, at most ${limit}`,
    ),
    ...levels.flatMap(({ what, first, last, limit, unit }) =>
      last <= limit
        ? []
        : [
            `growth: ${what} at rest from ${first.toFixed(1)} to ${last.toFixed(1)} ${unit}, at most ${limit.toFixed(1)}`,
          ],
    ),
    ...boundsExceeded(samples),
  ];
  return { rows, levels, findings };
}

function scaled(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MB;
}

function rowOf(
  part: PartName,
  { name, unit, of, perHour, warmUpSeconds }: Measure,
  samples: readonly Sample[],
): readonly Row[] {
  const trend = trendOf(livesOf(part, samples, of), warmUpSeconds);
  return trend === undefined
    ? []
    : [{ what: `${part}: ${name}`, unit, ...trend, limit: perHour, growth: growthOf(trend, perHour) }];
}

/** The values of each life of a part. */
function livesOf(part: PartName, samples: readonly Sample[], of: Measure["of"]): readonly (readonly Point[])[] {
  const lives = new Map<string, Point[]>();
  for (const { at, parts } of samples) {
    const sample = parts[part];
    const y = sample && of(sample);
    if (sample === undefined || y === undefined) continue;
    lives.set(sample.life, [...(lives.get(sample.life) ?? []), { x: at, y }]);
  }
  return [...lives.values()];
}

/** Medians of the second halves of the first and the last rest: the same processes and new parts run in both. */
function levelsOf(samples: readonly Sample[], spans: readonly Span[]): readonly Level[] {
  const rests = spans.filter(({ phase }) => phase === "rest");
  const [first, last] = [rests[0], rests.at(-1)].map((rest) =>
    samples.filter(({ at }) => rest && isInSecondHalf(at * 1_000, rest)),
  );
  if (first === undefined || last === undefined || last.length === 0) return [];
  const level = (
    what: string,
    unit: string,
    more: { of: (sample: Sample) => number | undefined; grows: number },
  ): Level[] => {
    const values = (of: readonly Sample[]): number => median(of.flatMap((sample) => more.of(sample) ?? []));
    const [before, after] = [values(first), values(last)];
    return Number.isNaN(before) || Number.isNaN(after)
      ? []
      : [{ what, unit, first: before, last: after, limit: before + more.grows }];
  };
  return [
    ...PARTS.flatMap((part) =>
      MEASURES.flatMap(({ name, unit, of, betweenRests }) =>
        level(`${part}: ${name}`, unit, { of: ({ parts }) => parts[part] && of(parts[part]), grows: betweenRests }),
      ),
    ),
    ...level("processes", "", { of: ({ processes }) => processes, grows: 4 }),
    ...level("FIFOs", "", { of: ({ fifos }) => fifos, grows: SPARE_FIFOS }),
  ];
}

function isInSecondHalf(at: number, { from, to }: Span): boolean {
  return at >= (from + to) / 2 && at <= to;
}

function boundsExceeded(samples: readonly Sample[]): readonly string[] {
  const most = (what: string, of: (sample: Sample) => number, bound: number): readonly string[] => {
    const peak = Math.max(...samples.map(of));
    return peak > bound ? [`size: ${what} has ${peak.toFixed(1)}, at most ${bound}`] : [];
  };
  return [
    ...STATE_FOLDERS.flatMap((folder) => most(`MB in ${folder}`, ({ bytes }) => bytes[folder] / MB, BOUNDS[folder])),
    ...most("files in the state folder", ({ files }) => files, MOST_FILES),
    ...most("FIFOs", ({ fifos }) => fifos, MOST_FIFOS),
  ];
}

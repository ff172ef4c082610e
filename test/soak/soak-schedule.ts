/** What a soak does and when: everything follows from seed and duration, before anything runs. */
import { SeededRandom } from "../support/seeded-random.ts";

/** Of a minute, by phase: how often each thing happens on average. */
const RATES = {
  request: { load: 40, kills: 20 },
  refusal: { load: 3, kills: 2 },
  report: { load: 4, kills: 2 },
  stream: { load: 6, kills: 3 },
  dashboard: { load: 1, kills: 0.5 },
  command: { load: 2, kills: 1 },
  connections: { load: 20, kills: 10 },
  crash: { load: 6, kills: 4 },
  operate: { load: 6, kills: 4 },
  scale: { load: 1.5, kills: 1 },
  roll: { load: 0.7, kills: 0.5 },
  reload: { load: 1, kills: 0.7 },
  watch: { load: 2, kills: 0 },
  plugin: { load: 0.5, kills: 0.5 },
  flood: { load: 0.5, kills: 0.5 },
} as const;

/** What is killed together, with its weight. */
const KILLS = {
  service: 24,
  logger: 20,
  keeper: 14,
  balancer: 14,
  "service logger": 6,
  "keeper service": 6,
  "keeper logger": 5,
  everything: 5,
  upgrade: 10,
} as const;

type RateKind = keyof typeof RATES;
export type StepKind = RateKind | "kill" | "upgrade" | "disk" | "settle";
export type Phase = "rest" | "load" | "kills";

/** `at`: milliseconds since the beginning. `seed`: of what the step chooses. `what`: the parts that are killed. */
export type Step = { readonly at: number; readonly kind: StepKind; readonly seed: number; readonly what?: string };

export type SoakTime = { readonly seed: number; readonly minutes: number };

export const LEAST_MINUTES = 3;
/** A cycle: rest, load without kills, kills. The parts live for most of it, so a slow growth shows. Milliseconds. */
const CYCLE_MS = 30 * 60_000;
/** At the beginning of each cycle, and at the end of the last one. Milliseconds. */
const REST_MS = 60_000;
/** Part of the time between two rests in which nothing of procman is killed. */
const LOAD_SHARE = 0.72;
/** Between two kills. A service that ends eleven times in a row within 2 s of its start stays down, by design. Milliseconds. */
const KILL_GAP_MS = [4_000, 12_000] as const;
/** Before the end of a phase no step begins. Milliseconds. */
const MARGIN_MS = 8_000;

export type Span = { readonly phase: Phase; readonly from: number; readonly to: number };

/** The phases in their order, without gaps. */
export function phasesOf(minutes: number): readonly Span[] {
  const all = minutes * 60_000;
  const cycles = Math.max(1, Math.round(all / CYCLE_MS));
  const rest = Math.min(REST_MS, all / 10);
  const active = (all - (cycles + 1) * rest) / cycles;
  const spans: Span[] = [];
  const add = (phase: Phase, duration: number): void => {
    const from = spans.at(-1)?.to ?? 0;
    spans.push({ phase, from, to: from + duration });
  };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    add("rest", rest);
    add("load", active * LOAD_SHARE);
    add("kills", active * (1 - LOAD_SHARE));
  }
  add("rest", rest);
  return spans;
}

/** The phase at a time; after the end: that of the end. */
export function phaseAt(spans: readonly Span[], at: number): Phase {
  return (spans.find(({ to }) => at < to) ?? spans.at(-1))?.phase ?? "rest";
}

/** All steps in the order of their times. */
export function scheduleOf({ seed, minutes }: SoakTime): readonly Step[] {
  const spans = phasesOf(minutes).filter(({ phase }) => phase !== "rest");
  const kinds = Object.keys(RATES) as RateKind[];
  const steps = spans.flatMap((span, index) => {
    const random = new SeededRandom(seed * 1_009 + index);
    const usual = kinds.flatMap((kind) => arrivals(kind, span, random));
    return [
      ...usual,
      ...(span.phase === "kills" ? [...kills(span, random), settling(span, random)] : [fullDisk(span, random)]),
    ];
  });
  return steps.sort((one, other) => one.at - other.at);
}

/** Independent of each other, as requests of many clients are: the gaps are exponentially distributed. */
function arrivals(kind: RateKind, { phase, from, to }: Span, random: SeededRandom): readonly Step[] {
  const rate = phase === "rest" ? 0 : RATES[kind][phase];
  if (rate === 0) return [];
  const gap = (): number => (-Math.log(1 - random.next()) * 60_000) / rate;
  const steps: Step[] = [];
  for (let at = from + gap(); at < to - MARGIN_MS; at += gap()) steps.push(step(kind, at, random));
  return steps;
}

function kills({ from, to }: Span, random: SeededRandom): readonly Step[] {
  const steps: Step[] = [];
  for (let at = from + random.between(...KILL_GAP_MS); at < to - 2 * MARGIN_MS; at += random.between(...KILL_GAP_MS)) {
    const what = random.weighted(KILLS);
    steps.push(what === "upgrade" ? step("upgrade", at, random) : { ...step("kill", at, random), what });
  }
  return steps;
}

/** Once in each phase of load, in its first half: the lines that wait then don't count as growth. */
function fullDisk({ from, to }: Span, random: SeededRandom): Step {
  return step("disk", from + (to - from) * random.between(0.15, 0.35), random);
}

/** Whatever was done before, at each rest the same processes run, under new parts. */
function settling({ to }: Span, random: SeededRandom): Step {
  return step("settle", to - MARGIN_MS, random);
}

function step(kind: StepKind, at: number, random: SeededRandom): Step {
  return { at: Math.round(at), kind, seed: Math.floor(random.next() * 2 ** 31) };
}

/** The fewest that a kind of step happens in an hour of load: what leaks at each of them grows at least so fast. */
export function leastPerHour(): number {
  return Math.min(...Object.values(RATES).map(({ load }) => load)) * 60;
}

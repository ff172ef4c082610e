/**
 * From one configuration to another, the instances of a cluster one after another, each when the one before it is up.
 *
 * Each step is a whole configuration of its own, in which the instances to come still have their former specification: so what
 * is noted of the configuration is true of every process at any time. Where it leads to, and back to, is noted beside it.
 */
import { listOf, text } from "../base/shape.ts";
import type { Config } from "../config/spec.ts";
import type { Process } from "../supervisor/process.ts";
import type { Changeover } from "./changeover.ts";
import { forecast, rollOf } from "./forecast.ts";
import { readFormer, writeFormer } from "./former.ts";
import { afterPorts } from "./port-order.ts";
import { type Serving, serves } from "./serves.ts";

/** Memory of a roll that is under way; no process has an id like this. */
export const ROLL = ":reload";

export type Journey = {
  readonly to: Config;
  /** What it goes back to; absent: it is on its way back. */
  readonly from?: Config | undefined;
  /** The instance whose new run is awaited. */
  readonly at?: string | undefined;
  /** Who is restarted after that one. */
  readonly left?: readonly string[] | undefined;
};

export type RollPorts = {
  readonly changeover: Changeover;
  readonly serving: Serving;
  /** Remembers it, in the same turn, before the step that leads to it; undefined: that one is the last. */
  readonly note: (journey: Journey | undefined) => void;
  /** An instance has not come up, and everything goes back. */
  readonly failed: (id: string) => void;
  readonly signal: AbortSignal;
  /** An instance that has run for so long is taken for one that is up. Milliseconds. */
  readonly steadyMs: number;
};

/** What needs no waiting is done at once. Resolves when all is done, or it was aborted. */
export async function roll(journey: Journey, ports: RollPorts): Promise<void> {
  const { serving, failed, signal, steadyMs } = ports;
  for (let now: Journey | undefined = journey; now !== undefined; ) {
    const { from, at }: Journey = now;
    const up: boolean = at === undefined || (await serves(serving, at, { steadyMs, signal }));
    if (signal.aborted) return;
    if (!up && at !== undefined && from !== undefined) failed(at);
    now = up ? advance(now, ports) : advance(from === undefined ? now : { to: from }, ports, at);
  }
}

/** The next step; undefined: it was the last. On the way back `first` is the first: it is the one that doesn't serve. */
function advance({ to, from, left: former }: Journey, { changeover, serving, note }: RollPorts, first?: string): Journey | undefined {
  const { supervisor } = serving;
  const { config } = changeover;
  // As at a first start.
  const rest = config === to ? [] : afterPorts(rollOf(forecast(config, to, supervisor.processes), to, former), config, to);
  const [at, ...left] = first !== undefined && rest.includes(first) ? [first, ...rest.filter((id) => id !== first)] : rest;
  const next = at === undefined ? undefined : { to, from, at, left };
  note(next);
  changeover.apply(stageOf(to, changeover, new Set(left)));
  // One that was started by hand, and has failed on its way, is as it was when it runs.
  const process = supervisor.processes.find(({ id }) => id === first);
  if (process?.isIdle) process.startIfAllowed();
  return next;
}

/** Whether instances of this cluster are still to be restarted: forwards, or when that fails, backwards. */
export function isOnTheWay(
  { to, from, at }: Journey,
  cluster: string,
  { config, processes }: { readonly config: Config; readonly processes: readonly Process[] },
): boolean {
  const rest = [to, from].flatMap((end) => (end === undefined ? [] : rollOf(forecast(config, end, processes), end)));
  const ids = new Set([...rest, at]);
  return config.processes.some((spec) => spec.cluster?.id === cluster && ids.has(spec.id));
}

export function writeJourney({ to, from, at, left }: Journey, lineage: string): string {
  const written = (config: Config): string => writeFormer({ config, leaving: [] });
  return JSON.stringify({ to: written(to), ...(from === undefined ? {} : { from: written(from) }), at, left, lineage });
}

/** undefined: none that is under way. Who runs procman anew wants what the file says now. */
export function readJourney(note: string | undefined, lineage: string): Journey | undefined {
  if (note === undefined || note === "") return undefined;
  try {
    const { left = [], ...known } = JSON.parse(note) as { readonly left?: unknown };
    const { to, from, at, lineage: own } = known as Readonly<Record<string, string | undefined>>;
    const [target, back] = [readFormer(to)?.config, readFormer(from)?.config];
    if (own !== lineage || target === undefined || typeof at !== "string" || !isList(left)) return undefined;
    return { to: target, from: back, at, left: left as readonly string[] };
  } catch {
    return undefined;
  }
}

const isList = listOf(text);

/** The configuration in which these instances are not there yet. */
function stageOf(to: Config, changeover: Changeover, left: ReadonlySet<string>): Config {
  if (left.size === 0) return to;
  return { ...to, processes: to.processes.map((spec) => (left.has(spec.id) ? changeover.spec(spec.id) : spec)) };
}

/**
 * Decides how many instances a cluster has: `scaleStep(state, sample, policy)` returns the next state and, when it is
 * time, a decision with its reason. Time arrives in the sample.
 *
 * A cluster grows to the least number of instances that its load needed throughout `upAfterMs`, and shrinks to the
 * greatest that it needed throughout `downAfterMs`. Shrinking leaves each instance a part of its target free, so that
 * the same load is never a reason for both.
 */
import { emptyWindow, extremeOf, type LoadWindow, withNeed } from "./load-window.ts";

export type LoadTarget = {
  /** `cpu`, `connections`, `waiting`, or `metric:NAME`. */
  readonly name: string;
  /** Load that one instance is meant to have; of `waiting`: clients that may wait. */
  readonly limit: number;
  /** Connections that one instance takes; with `waiting` only. */
  readonly capacity?: number;
};

export type ScalePolicy = {
  readonly min: number;
  readonly max: number;
  readonly targets: readonly LoadTarget[];
  readonly upAfterMs: number;
  readonly downAfterMs: number;
  /** Most instances that one decision adds or removes; absent: no limit. */
  readonly step?: number;
};

export type ScaleSample = {
  /** Monotonic milliseconds. */
  readonly at: number;
  /** Instances that the cluster has. */
  readonly instances: number;
  /** Instances of these that serve: the loads are theirs. */
  readonly serving: number;
  /** Load of all serving instances together, by name; absent: not known. `waiting` needs `connections`, too. */
  readonly loads: ReadonlyMap<string, number>;
  /** Absent: not known. */
  readonly memory?: MemoryRoom;
  /** An instance that can't stay up: the others would not do better. */
  readonly failing?: string;
};

export type MemoryRoom = {
  readonly freeBytes: number;
  /** What one instance uses. */
  readonly instanceBytes: number;
};

export type ScaleReason =
  | { readonly kind: "load"; readonly target: LoadTarget; readonly load: number; readonly forMs: number }
  /** The number was outside of the bounds. */
  | { readonly kind: "min" | "max"; readonly bound: number };

export type ScaleDecision = { readonly from: number; readonly to: number; readonly reason: ScaleReason };

/** Why a cluster that needs more instances gets none. */
export type ScaleRefusal = { readonly wanted: number; readonly reason: ScaleReason } & (
  | { readonly kind: "max" }
  | ({ readonly kind: "memory" } & MemoryRoom)
  | { readonly kind: "failing"; readonly instance: string }
);

export type ScaleState = {
  readonly growth: LoadWindow;
  readonly shrinkage: LoadWindow;
  /** Time of the last sample. */
  readonly at: number;
  readonly wasFailing: boolean;
};

export type ScaleOutcome = {
  readonly state: ScaleState;
  /** Instances that the present load needs, within the bounds. */
  readonly desired: number;
  readonly decision?: ScaleDecision;
  readonly refusal?: ScaleRefusal;
};

/** Part of its target that an instance has at most after others were removed. */
const FILLED = 0.8;
/** Part of the free memory that new instances may take. */
const TAKEN = 0.9;
/** After a longer time without a sample, earlier ones say nothing. Milliseconds. */
const LONGEST_GAP_MS = 15_000;

/** The state without samples: also after a rolling restart, a reload, a pin, whatever makes earlier samples worthless. */
export const NO_SAMPLES: ScaleState = stateAt(Number.NEGATIVE_INFINITY);

function stateAt(at: number): ScaleState {
  return { growth: emptyWindow(at), shrinkage: emptyWindow(at), at, wasFailing: false };
}

export function scaleStep(before: ScaleState, sample: ScaleSample, policy: ScalePolicy): ScaleOutcome {
  const need = needOf(sample, policy);
  const state = observed(before, need, sample, policy);
  const step: ScaleStep = { state, sample, policy, need, desired: desiredOf(need, sample, policy) };
  return bounded(step) ?? growth(step) ?? shrinkage(step) ?? { state, desired: step.desired };
}

type ScaleStep = {
  /** With the present sample. */
  readonly state: ScaleState;
  readonly sample: ScaleSample;
  readonly policy: ScalePolicy;
  readonly need: Need;
  readonly desired: number;
};

/** `up`: instances without which it has to grow. `down`: those with which it must not shrink. */
type Need = { readonly up: number; readonly down: number; readonly reason: Omit<LoadReason, "forMs"> | undefined };
type LoadReason = ScaleReason & { readonly kind: "load" };

function desiredOf({ up, down }: Need, { instances }: ScaleSample, { min, max }: ScalePolicy): number {
  const needed = up > instances ? up : Math.min(down, instances);
  return Math.min(max, Math.max(min, needed));
}

/** At once, if the bounds don't allow the present number. Without targets the minimum is the number. */
function bounded(step: ScaleStep): ScaleOutcome | undefined {
  const { sample, policy } = step;
  const { min, max, targets } = policy;
  const from = sample.instances;
  if (from < min) return grown(step, min, { kind: "min", bound: min });
  if (from > min && targets.length === 0) return decided(step, { from, to: min, reason: { kind: "min", bound: min } });
  return from > max ? decided(step, { from, to: max, reason: { kind: "max", bound: max } }) : undefined;
}

function growth(step: ScaleStep): ScaleOutcome | undefined {
  const { state, sample, policy, need, desired } = step;
  const { max, upAfterMs } = policy;
  const { instances, failing } = sample;
  const needed = extremeOf(state.growth, sample.at, upAfterMs);
  if (needed === undefined || needed <= instances || need.reason === undefined) return undefined;
  const reason = { ...need.reason, forMs: upAfterMs };
  const wanted = Math.min(needed, max, instances + stepOf(policy));
  if (wanted === instances) return { state, desired, refusal: { kind: "max", wanted: needed, reason } };
  if (failing !== undefined) return { state, desired, refusal: { kind: "failing", instance: failing, wanted, reason } };
  return grown(step, wanted, reason);
}

function shrinkage(step: ScaleStep): ScaleOutcome | undefined {
  const { state, sample, policy, need } = step;
  const { min, downAfterMs } = policy;
  const from = sample.instances;
  const needed = extremeOf(state.shrinkage, sample.at, downAfterMs);
  if (needed === undefined || need.reason === undefined) return undefined;
  const to = Math.max(needed, min, from - stepOf(policy));
  return to < from ? decided(step, { from, to, reason: { ...need.reason, forMs: downAfterMs } }) : undefined;
}

function stepOf({ step = Number.POSITIVE_INFINITY }: ScalePolicy): number {
  return step;
}

const NO_NEED: Need = { up: 0, down: 0, reason: undefined };

/** The need of all targets together: the largest wins. While one is not known, the cluster doesn't shrink. */
function needOf(sample: ScaleSample, { targets }: ScalePolicy): Need {
  const unknown: Need = { up: 0, down: sample.instances, reason: undefined };
  if (sample.serving === 0) return unknown;
  return targets
    .map((target) => needOfTarget(target, sample) ?? unknown)
    .reduce<Need>((most, each) => {
      const isMore = most.reason === undefined || each.up > most.up || (each.up === most.up && each.down > most.down);
      return {
        up: Math.max(most.up, each.up),
        down: Math.max(most.down, each.down),
        reason: isMore && each.reason !== undefined ? each.reason : most.reason,
      };
    }, NO_NEED);
}

function needOfTarget(target: LoadTarget, sample: ScaleSample): Need | undefined {
  const { limit, name, capacity } = target;
  const total = sample.loads.get(name);
  if (total === undefined) return undefined;
  if (capacity !== undefined) return needOfWaiting(target, sample, { capacity, total });
  return {
    up: Math.ceil(total / limit),
    down: Math.ceil(total / (limit * FILLED)),
    reason: { kind: "load", target, load: total / sample.serving },
  };
}

/** Clients wait because no instance takes more: their number says how many more are needed. */
function needOfWaiting(
  target: LoadTarget,
  { loads, instances, serving }: ScaleSample,
  { capacity, total }: { readonly capacity: number; readonly total: number },
): Need | undefined {
  const connections = loads.get("connections");
  if (connections === undefined) return undefined;
  const demand = (connections + total) / capacity;
  const isTooMuch = total > target.limit;
  // Those that are being started take their share in a moment.
  const atLeast = isTooMuch && serving === instances ? instances + 1 : 0;
  const up = isTooMuch ? Math.max(Math.ceil(demand), atLeast) : 0;
  return { up, down: Math.max(up, Math.ceil(demand / FILLED)), reason: { kind: "load", target, load: total } };
}

function observed(before: ScaleState, { up, down }: Need, sample: ScaleSample, policy: ScalePolicy): ScaleState {
  const { at } = sample;
  const known = at - before.at > LONGEST_GAP_MS ? stateAt(at) : before;
  const wasFailing = sample.failing !== undefined;
  // While an instance fails, the others have its load.
  const growth = before.wasFailing && !wasFailing ? emptyWindow(at) : known.growth;
  return {
    growth: withNeed(growth, { at, need: up }, { extreme: "least", lengthMs: policy.upAfterMs }),
    shrinkage: withNeed(known.shrinkage, { at, need: down }, { extreme: "greatest", lengthMs: policy.downAfterMs }),
    at,
    wasFailing,
  };
}

/** As many of the wanted instances as memory allows. */
function grown(step: ScaleStep, wanted: number, reason: ScaleReason): ScaleOutcome {
  const { state, desired } = step;
  const { instances: from, serving, memory } = step.sample;
  const to = memory === undefined ? wanted : Math.min(wanted, from + roomIn(memory, from - serving));
  if (memory !== undefined && to <= from)
    return { state, desired, refusal: { kind: "memory", wanted, reason, ...memory } };
  return decided(step, { from, to, reason });
}

/** Bytes of the free memory that new instances may take. */
export function takeable(freeBytes: number): number {
  return freeBytes * TAKEN;
}

/** `pending`: instances that have yet to take their memory. */
function roomIn({ freeBytes, instanceBytes }: MemoryRoom, pending: number): number {
  if (instanceBytes <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(0, Math.floor(takeable(freeBytes) / instanceBytes) - pending);
}

/** The next decision in the same direction waits as long as this one did. */
function decided({ state, desired }: ScaleStep, decision: ScaleDecision): ScaleOutcome {
  const { from, to } = decision;
  const empty = emptyWindow(state.at);
  return { state: { ...state, ...(to > from ? { growth: empty } : { shrinkage: empty }) }, desired, decision };
}

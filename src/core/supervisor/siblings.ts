/** What the other instances of a cluster mean for one: for a new one, and for one that is unhealthy. */
import type { Process } from "./process.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import type { RunOutcome, SlotState } from "./states.ts";
import {
  isAsleep,
  isHealthy,
  isIdle,
  isOutForHealth,
  isRunning,
  isStarting,
  isStoppedFor,
  isUnready,
  wasStopped,
} from "./verdict.ts";

/** `process`: another instance, which is being restarted; absent: no other one is healthy. */
export type HealthHold = { readonly process?: string };

/**
 * Why an unhealthy instance is not restarted; undefined: it may be. A restart helps only where the cause is in the
 * instance: while no other one is healthy, the cause is elsewhere. And the others serve meanwhile, so they are
 * restarted one at a time.
 */
export function healthHold(others: readonly Process[]): HealthHold | undefined {
  const active = others.filter(({ isIdle }) => !isIdle);
  if (active.length === 0) return undefined;
  if (!active.some(hasHealthyRun)) return {};
  const coming = active.find(({ states }) => states.some(isUnproven));
  return coming === undefined ? undefined : { process: coming.id };
}

/** What was asked of a whole cluster, or of the process that it was, and so holds for an instance that it gets later; undefined: nothing. */
export function inheritedFrom(others: readonly Process[]): "blocked" | "disabled" | "stopped" | undefined {
  if (others.length === 0) return undefined;
  if (others.every(({ isBlocked }) => isBlocked)) return "blocked";
  if (others.every(isStopped)) return "stopped";
  return others.every(({ isDisabled }) => isDisabled) ? "disabled" : undefined;
}

/** What a new instance begins with; undefined: as any new process. */
export function inheritedSnapshot(id: string, others: readonly Process[]): ProcessSnapshot | undefined {
  if (others.length === 0) return undefined;
  const outcome = others.every(isStopped) ? ({ kind: "stopped" } as const) : sleepOf(others);
  const rest: SlotState | undefined = outcome && { status: "idle", run: 0, restarts: 0, outcome };
  return { blocked: others.every(({ isBlocked }) => isBlocked), slots: rest === undefined ? {} : { [id]: rest } };
}

/** Whether an unhealthy instance still gets connections: as all others are unhealthy, too. */
export function isAllUnhealthy(others: readonly Process[]): boolean {
  return others.some(({ isIdle }) => !isIdle) && !others.some(hasHealthyRun);
}

export function isStopped({ states }: Process): boolean {
  return states.every(wasStopped);
}

/** The sleep of a cluster of which all instances sleep. */
function sleepOf([first, ...others]: readonly Process[]): RunOutcome | undefined {
  const [state] = first?.states ?? [];
  if (!isIdle(state) || state.outcome.kind !== "asleep") return undefined;
  return others.every(({ states }) => states.every(isAsleep))
    ? { kind: "asleep", since: state.outcome.since }
    : undefined;
}

function hasHealthyRun({ states }: Process): boolean {
  return states.some(isHealthy);
}

/** Whether the instance is being restarted for its health, or its new run has not passed a check yet. */
function isUnproven(state: SlotState): boolean {
  if (isStarting(state) || isUnready(state) || isOutForHealth(state) || isStoppedFor(state, "unhealthy")) return true;
  return isRunning(state) && state.healthy === undefined;
}

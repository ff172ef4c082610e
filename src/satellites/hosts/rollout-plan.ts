/** Which host does what next in a rollout: pure. All that it needs is on the hosts, so any client comes to the same. */
import type { RolloutPhase, RolloutRecord } from "../../core/contract/rollout-record.ts";

export type RolloutLimits = Pick<RolloutRecord, "hosts" | "batch" | "maxFailed" | "onFailure" | "drains">;

/** `lost`: it doesn't answer any more. */
export type HostState =
  | "lost"
  | (Pick<RolloutRecord, "phase"> & Partial<Pick<RolloutRecord, "problem" | "changed" | "back" | "aborted" | "ended">>);

/** A step of this host (`drained`: the command of the client, then `run` or `back-run`), or waiting for what it does. */
export type HostDeed = "drain" | "drained" | "undrain" | "run" | "watch" | "ready" | "back-drain" | "back-run";

export type RolloutEnd = "done" | "stopped" | "taken-back";

/** No deed: it is over. */
export type NextDeeds = {
  readonly deeds: ReadonlyMap<string, HostDeed>;
  readonly end?: RolloutEnd;
};

const CHANGING: readonly RolloutPhase[] = ["draining", "undraining", "running", "readying"];
const GOING_BACK: readonly RolloutPhase[] = ["back-draining", "back-running", "back-readying"];
const FAILED: readonly RolloutPhase[] = ["failed", "back-failed"];

/** What is under way goes on, whatever follows. */
const UNDER_WAY: Partial<Readonly<Record<RolloutPhase, HostDeed>>> = {
  draining: "drained",
  undraining: "ready",
  running: "watch",
  readying: "ready",
  "back-draining": "drained",
  "back-running": "watch",
  "back-readying": "ready",
};

type States = ReadonlyMap<string, HostState>;

export function nextDeeds(limits: RolloutLimits, states: States): NextDeeds {
  const isStopping = mustStop(limits, states);
  const deeds = underWay(limits, states, isStopping);
  const [next, deed] = !isStopping
    ? [limits.hosts.filter((host) => phaseOf(states, host) === "waiting"), limits.drains ? "drain" : "run"]
    : ([toTakeBack(limits, states), limits.drains ? "back-drain" : "back-run"] as const);
  for (const host of next.slice(0, Math.max(0, limits.batch - deeds.size))) deeds.set(host, deed as HostDeed);
  if (deeds.size > 0) return { deeds };
  return { deeds, end: !isStopping ? "done" : endOf(limits, states) };
}

/** What is under way goes on; of a host that hasn't changed yet, only if the rollout does. */
function underWay({ hosts }: RolloutLimits, states: States, isStopping: boolean): Map<string, HostDeed> {
  return new Map(
    hosts.flatMap((host) => {
      const phase = phaseOf(states, host);
      const deed = phase && UNDER_WAY[phase];
      return deed === undefined ? [] : [[host, phase === "draining" && isStopping ? "undrain" : deed]];
    }),
  );
}

/** In reverse order, once nothing goes forward any more. */
function toTakeBack(limits: RolloutLimits, states: States): readonly string[] {
  const isForward = limits.hosts.some((host) => CHANGING.includes(phaseOf(states, host) ?? "waiting"));
  if (isForward || !mayGoBack(limits, states)) return [];
  return limits.hosts.filter((host) => isChanged(states.get(host))).reverse();
}

function endOf(limits: RolloutLimits, states: States): RolloutEnd {
  const isStuck = limits.hosts.some((host) => phaseOf(states, host) === "back-failed" || states.get(host) === "lost");
  return isStuck || !mayGoBack(limits, states) ? "stopped" : "taken-back";
}

/** More have failed than may, somebody has aborted it, or it goes back already. */
function mustStop({ hosts, maxFailed }: RolloutLimits, states: States): boolean {
  const failed = hosts.filter((host) => hasFailed(states.get(host)));
  return failed.length > maxFailed || hosts.some((host) => isAborted(states.get(host)) || isBack(states.get(host)));
}

/** Not when it is over, with its change, on a host. */
function mayGoBack({ onFailure }: RolloutLimits, states: States): boolean {
  const all = [...states.values()];
  return !all.some(hasEndedChanged) && (onFailure === "rollback" || all.some(isBack));
}

function phaseOf(states: States, host: string): RolloutPhase | undefined {
  const state = states.get(host);
  return state === undefined || state === "lost" ? undefined : state.phase;
}

function hasFailed(state: HostState | undefined): boolean {
  if (state === undefined || state === "lost") return true;
  return FAILED.includes(state.phase) || (state.phase === "readying" && state.problem !== undefined);
}

function isChanged(state: HostState | undefined): boolean {
  return state !== undefined && state !== "lost" && state.changed === true && ["done", "failed"].includes(state.phase);
}

function hasEndedChanged(state: HostState): boolean {
  return isChanged(state) && state !== "lost" && state.ended !== undefined;
}

function isAborted(state: HostState | undefined): boolean {
  return state !== undefined && state !== "lost" && state.aborted === true;
}

function isBack(state: HostState | undefined): boolean {
  return state !== undefined && state !== "lost" && (state.back === true || GOING_BACK.includes(state.phase));
}

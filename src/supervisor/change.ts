/** What a changed plan means for a process that is there. */
import type { Plan } from "./plan.ts";
import type { Instance, Outcome } from "./states.ts";

export type Change = {
  /** Names of what has changed. */
  readonly fields: readonly string[];
  /** What its runs consist of has changed. */
  readonly restart: boolean;
};

/** `blocked`: it would be restarted, if it were not blocked. `runs on`: what runs does so by the new plan. */
export type Effect = "restarts" | "starts" | "blocked" | "runs on" | "none";

export type Changed = { readonly plan: Plan; readonly blocked: boolean; readonly states: readonly Instance[] };

export function effectOf({ restart }: Change, before: Plan, { plan, blocked, states }: Changed): Effect {
  const mayStart = plan.autostart && !blocked;
  if (restart && states.some(isUnderWay)) return blocked ? "blocked" : "restarts";
  // The cause of a failure may be what was changed.
  if (restart && mayStart && states[0]?.status === "idle" && isFailure(states[0].outcome)) return "starts";
  if (mayStart && !before.autostart && states.every(isFresh)) return "starts";
  return states.some(hasRun) ? "runs on" : "none";
}

/** There is a run, or one was asked for. */
export function hasRun({ status }: Instance): boolean {
  return status === "starting" || status === "running" || status === "stopping";
}

/** It runs and shall run, or will by itself. */
export function isUnderWay({ status }: Instance): boolean {
  return status === "starting" || status === "running" || status === "backoff";
}

function isFresh(state: Instance): boolean {
  return state.status === "idle" && state.outcome.kind === "never-started";
}

function isFailure({ kind }: Outcome): boolean {
  return kind === "failed" || kind === "exhausted";
}

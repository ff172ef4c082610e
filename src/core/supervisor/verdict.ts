/**
 * Verdicts on the state of a slot: the only place that compares its `status`, beside the machine. Records have verdicts
 * of their own,
 * `contract/status-sets.ts`: what reads them knows no slot, a cluster has no slot, and the supervisor imports only
 * `base`.
 *
 * | status   | more                         | is up          | comes up by itself         | its run has ended | holds its port |
 * |----------|------------------------------|----------------|----------------------------|-------------------|----------------|
 * | idle     | never-started                | no             | by schedule or file        | there was none    | no             |
 * | idle     | stopped                      | no             | by schedule or file        | yes               | no             |
 * | idle     | asleep                       | no             | with its first client      | yes, or none      | no             |
 * | idle     | finished                     | no             | by schedule or file        | yes               | no             |
 * | idle     | failed, exhausted            | no             | by schedule or file        | yes, permanently  | no             |
 * | waiting  |                              | no             | with its dependencies      | yes, or none      | no             |
 * | starting | hook beforeStart             | no             | yes                        | no                | no             |
 * | starting | spawn requested              | no             | yes                        | no                | in a moment    |
 * | running  | not ready                    | not yet        | yes                        | no                | yes            |
 * | running  | ready, health unknown, good  | yes            |                            | no                | yes            |
 * | running  | not healthy                  | no             | yes                        | no                | yes            |
 * | stopping | spawning                     | no             | unless `next` is idle      | no                | may be         |
 * | stopping | waiting-dependents           | serves on      | unless `next` is idle      | no                | yes            |
 * | stopping | grace, terminate, kill       | no             | unless `next` is idle      | no                | yes            |
 * | stopping | cleanup, cleanup-kill        | no             | unless `next` is idle      | its leader        | may be         |
 * | stopping | after-stop                   | no             | unless `next` is idle      | yes               | no             |
 * | backoff  |                              | no             | after its delay            | yes               | no             |
 */
import type { Phase, RunningState, SlotState, StopCause, Sweeping } from "./states.ts";

export type StateOf<Status extends SlotState["status"]> = Extract<SlotState, { readonly status: Status }>;

type State = SlotState | undefined;

export function isIdle(state: State): state is StateOf<"idle"> {
  return state?.status === "idle";
}

export function isWaiting(state: State): state is StateOf<"waiting"> {
  return state?.status === "waiting";
}

export function isStarting(state: State): state is StateOf<"starting"> {
  return state?.status === "starting";
}

export function isRunning(state: State): state is RunningState {
  return state?.status === "running";
}

export function isStopping(state: State): state is StateOf<"stopping"> {
  return state?.status === "stopping";
}

export function isInBackoff(state: State): state is StateOf<"backoff"> {
  return state?.status === "backoff";
}

/** A back-off that began because the run was not healthy or not ready. */
export function isOutForHealth(state: State): boolean {
  return isInBackoff(state) && (state.fault === "unhealthy" || state.fault === "unready");
}

// Several statuses.

/** A run exists or was requested, and is not over with all that belongs to it. */
export function hasCurrentRun(state: State): state is StateOf<"starting" | "running" | "stopping"> {
  return isStarting(state) || isRunning(state) || isStopping(state);
}

/** The process runs or is about to, and nothing stops it. */
export function isStartingOrRunning(state: State): state is StateOf<"starting" | "running"> {
  return isStarting(state) || isRunning(state);
}

/** The process runs, or its policy brings it back; nothing stops it. */
export function isUnderWay(state: State): boolean {
  return isStartingOrRunning(state) || isInBackoff(state);
}

/** The process has no run, and none is on its way but after a delay. */
export function isDown(state: State): boolean {
  return state === undefined || isIdle(state) || isInBackoff(state);
}

/** The process has no run, and its own policy brings none. */
export function isQuiet(state: State): boolean {
  return isIdle(state) || isWaiting(state);
}

/** The process will run in a moment. */
export function isComing(state: State): boolean {
  return isStarting(state) || startsAgain(state);
}

// While it runs.

/** Its readiness check has passed, or it has none. */
export function isReady(state: State): boolean {
  return isRunning(state) && state.ready;
}

export function isUnready(state: State): boolean {
  return isRunning(state) && !state.ready;
}

/** A health check has passed, and none has failed since. */
export function isHealthy(state: State): boolean {
  return isRunning(state) && state.ready && state.healthy === true;
}

export function isUnhealthy(state: State): boolean {
  return isRunning(state) && state.healthy === false;
}

/** The process is ready, and was not restarted after a failure. */
export function isStable(state: State): boolean {
  return isRunning(state) && state.ready && state.restarts === 0;
}

// Once it has ended.

export function wasNeverStarted(state: State): boolean {
  return isIdle(state) && state.outcome.kind === "never-started";
}

export function wasStopped(state: State): boolean {
  return isIdle(state) && state.outcome.kind === "stopped";
}

/** Its first client starts it. */
export function isAsleep(state: State): boolean {
  return isIdle(state) && state.outcome.kind === "asleep";
}

/** The process has ended by itself, as a job does that is done. */
export function hasFinished(state: State): boolean {
  return isIdle(state) && state.outcome.kind === "finished";
}

/** The process has failed, and its policy has given up. */
export function hasFailed(state: State): boolean {
  return isIdle(state) && (state.outcome.kind === "failed" || state.outcome.kind === "exhausted");
}

/** Its last run has ended by itself, and nothing restarts it. A run that couldn't be started hasn't ended. */
export function hasCompleted(state: State): boolean {
  if (!isIdle(state)) return false;
  const { outcome } = state;
  if (outcome.kind === "finished") return true;
  return (outcome.kind === "failed" || outcome.kind === "exhausted") && outcome.ending.kind !== "unstartable";
}

// While it is being stopped.

/** The process stays down then. */
export function isBeingStopped(state: State): boolean {
  return isStopping(state) && state.next === "idle";
}

/** The process sleeps then. */
export function isFallingAsleep(state: State): boolean {
  return isBeingStopped(state) && isStoppedFor(state, "idle");
}

/** The process was asked to start again then. */
export function startsAgain(state: State): boolean {
  return isStopping(state) && state.next === "start";
}

export function isStoppedFor(state: State, cause: StopCause): boolean {
  return isStopping(state) && state.cause === cause;
}

/** Its dependents end first; it serves them until then. */
export function waitsForDependents(state: State): boolean {
  return isStopping(state) && state.phase === "waiting-dependents";
}

/** Its leader has ended, what belongs to it has not. */
export function isSweeping(state: State): state is Sweeping {
  return isStopping(state) && "ending" in state;
}

/** The process was spawned, and its leader has not ended. */
export function hasLeader(state: State): state is RunningState | Extract<SlotState, { readonly phase: Phase }> {
  return state !== undefined && "pid" in state && !("ending" in state);
}

/** All of it has ended, and its hook runs. */
export function runsAfterStop(state: State): state is Sweeping & { readonly phase: "after-stop" } {
  return isStopping(state) && state.phase === "after-stop";
}

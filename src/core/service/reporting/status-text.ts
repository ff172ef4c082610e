/** Why a process is in its state: the status and its cause, as data, from the state of the machine. */
import type { StatusCause } from "../../contract/causes.ts";
import type { Status } from "../../contract/records.ts";
import { type StatusMembers, statusText } from "../../contract/words.ts";
import type { Process } from "../../supervisor/process.ts";
import { stopSignalOf } from "../../supervisor/restart-policy.ts";
import type { HookName, RunningState, SlotState } from "../../supervisor/states.ts";
import { isIdle, isRunning, isStartingOrRunning, type StateOf } from "../../supervisor/verdict.ts";
import { systemClock } from "../system-clock.ts";
import type { DependencyStatus } from "./dependency-status.ts";
import {
  idleDecision,
  lastEndOf,
  type MessageContext,
  programEnd,
  restartDecision,
  unhealthyDecision,
} from "./run-ends.ts";

type Causes = {
  /** Why the load balancer sends it no connections. */
  readonly connectionProblem: string | undefined;
  /** How its latest run has ended, if known. */
  readonly lastEnd?: string | undefined;
};

/** Why a process did not come up. */
export function whyNotUp({ states }: Process, subject: MessageContext, { connectionProblem, lastEnd }: Causes): string {
  const [state] = states;
  if (state === undefined || (isStartingOrRunning(state) && state.restarts > 0))
    return lastEnd === undefined ? "ended soon after its start" : `${lastEnd}; it was restarted`;
  const cause = causeOf(state, subject, systemClock.now());
  const isUnserved = isRunning(state) && connectionProblem !== undefined;
  return statusText(partOf(state, subject), isUnserved ? { ...cause, connectionProblem } : cause);
}

export function partOf(state: SlotState, { skip }: DependencyStatus): StatusMembers {
  return { status: statusOf(state, skip !== undefined), restarts: state.restarts, ...conditionOf(state) };
}

export function statusOf(state: SlotState, isSkipped = false): Status {
  if (isSkipped) return "skipped";
  if (!isIdle(state)) return state.status;
  return (
    {
      "never-started": "created",
      stopped: "stopped",
      asleep: "asleep",
      finished: "finished",
      failed: "errored",
      exhausted: "exhausted",
    } as const
  )[state.outcome.kind];
}

function conditionOf(state: SlotState): Pick<StatusMembers, "ready" | "healthy"> {
  if (!isRunning(state)) return {};
  return { ready: state.ready, ...(state.healthy === undefined ? {} : { healthy: state.healthy }) };
}

export function causeOf(state: SlotState, subject: MessageContext, now: number): StatusCause {
  const { waitsFor, skip, policy } = subject;
  switch (state.status) {
    case "idle":
      return idleCause(state, subject);
    case "waiting":
      return { ...(waitsFor && { waitsFor }), ...(skip && { skip }) };
    case "starting":
      return hookOf("beforeStart", state.hookSince, now);
    case "running":
      return runningCause(state, subject);
    case "stopping":
      return stoppingCause(state, subject, now);
    case "backoff":
      return {
        end: lastEndOf(state, subject),
        next: restartDecision(state.restarts + 1, policy, state.until - now),
      };
    default:
      return state satisfies never;
  }
}

function hookOf(name: HookName, since: number | undefined, now: number): Pick<StatusCause, "hook"> {
  return since === undefined ? {} : { hook: { name, ms: Math.round(now - since) } };
}

function runningCause({ ready, healthy }: RunningState, subject: MessageContext): StatusCause {
  const { trouble: problem, logProblem } = subject;
  const isUnhealthy = ready && healthy === false;
  return {
    ...((!ready || isUnhealthy) && problem !== undefined && { problem }),
    ...(logProblem !== undefined && { logProblem }),
    ...(isUnhealthy && { next: unhealthyDecision(subject) }),
  };
}

function idleCause({ outcome }: StateOf<"idle">, subject: MessageContext): StatusCause {
  if (outcome.kind === "never-started" || outcome.ending === undefined) return {};
  const next = idleDecision(outcome, subject);
  if (outcome.kind === "stopped") return { end: { kind: "operator", ...programEnd(outcome.ending) }, next };
  if (outcome.kind === "asleep") return { end: { kind: "idle", ...programEnd(outcome.ending) }, next };
  return { end: lastEndOf(outcome, subject), next };
}

function stoppingCause(
  state: StateOf<"stopping">,
  { policy, dependents, ...subject }: MessageContext,
  now: number,
): StatusCause {
  const { cause: kind, phase } = state;
  const signal = phase === "terminate" ? stopSignalOf(policy) : phase === "kill" ? "SIGKILL" : undefined;
  const stop = {
    kind,
    phase,
    ...(signal && { signal }),
    ...(state.next === "start" && { again: true as const }),
    ...(phase === "waiting-dependents" && dependents && { dependents }),
  };
  if (phase === "spawning") return { stop, ...hookOf("beforeStart", state.hookSince, now) };
  if (phase !== "after-stop") return { stop };
  return { stop, end: lastEndOf(state, { policy, ...subject }), ...hookOf("afterStop", state.since, now) };
}

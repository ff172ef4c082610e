/** Status text: why a process is in its state, in one sentence. */
import { duration } from "../../base/quantity.ts";
import { failureText, finishText, howItEnded, inParentheses, leftNote, whyNone } from "../../contract/words.ts";
import type { Process } from "../../supervisor/process.ts";
import { stopSignalOf } from "../../supervisor/restart-policy.ts";
import type { HookName, RunningState, SlotState } from "../../supervisor/states.ts";
import { isRunning, isStartingOrRunning, type StateOf } from "../../supervisor/verdict.ts";
import { systemClock } from "../system-clock.ts";
import { backoffText, whyNoRestart } from "./lifecycle-messages.ts";
import { idleDecision, lastEndOf, type MessageContext, programEnd } from "./run-ends.ts";

type Causes = {
  /** Why the load balancer sends it no connections. */
  readonly connectionProblem: string | undefined;
  /** How its latest run has ended, if known. */
  readonly lastEnd?: string | undefined;
};

/** Why a process did not come up. */
export function whyNotUp(
  { id, states }: Process,
  subject: MessageContext,
  { connectionProblem, lastEnd }: Causes,
): string {
  const [state] = states;
  if (state === undefined || (isStartingOrRunning(state) && state.restarts > 0))
    return `${lastEnd === undefined ? "ended soon after its start" : `${lastEnd}; it was restarted`} ("procman why ${id}" shows more)`;
  const reason = statusText(state, subject, systemClock.now());
  return isRunning(state) && connectionProblem !== undefined ? `${reason}, but ${connectionProblem}` : reason;
}

export function statusText(state: SlotState, subject: MessageContext, now: number): string {
  const { policy } = subject;
  switch (state.status) {
    case "idle":
      return idleReason(state, subject);
    case "waiting":
      return subject.skip === undefined
        ? `waits for ${subject.waitsFor || "what it depends on"}`
        : `is ${subject.skip.text}`;
    case "starting":
      return state.hookSince === undefined ? "is being started" : hookText("beforeStart", now - state.hookSince);
    case "running":
      return runningReason(state, subject);
    case "stopping":
      return stoppingReason(state, subject, now);
    case "backoff":
      return `${failureText(lastEndOf(state, subject))}, ${backoffText(state.restarts, policy, Math.round(state.until - now))}`;
    default:
      return state satisfies never;
  }
}

function runningReason(state: RunningState, subject: MessageContext): string {
  const { logProblem } = subject;
  const reason = conditionReason(state, subject);
  return logProblem === undefined ? reason : `${reason}; ${logProblem}`;
}

function conditionReason({ restarts, ready, healthy }: RunningState, subject: MessageContext): string {
  const { trouble } = subject;
  const runs = restarts === 0 ? "runs" : `runs, restarted ${restarts === 1 ? "once" : `${restarts} times`}`;
  if (!ready) return `${runs}, is not ready yet${inParentheses(trouble)}`;
  return healthy === false
    ? `${runs}, but is not healthy${inParentheses(trouble)}, and not restarted${whyNoRestart(subject)}`
    : runs;
}

function idleReason({ outcome }: StateOf<"idle">, subject: MessageContext): string {
  if (outcome.kind === "never-started") return "was not started yet";
  const end = outcome.ending === undefined ? undefined : programEnd(outcome.ending);
  if (outcome.kind === "stopped") return `was stopped${end === undefined ? "" : `; it ${howItEnded(end)}`}`;
  if (outcome.kind === "finished")
    return `finished by itself${finishText(end ?? {}) || " with code 0"}${leftNote(end?.left)}`;
  return `${failureText(lastEndOf(outcome, subject))}; ${whyNone(idleDecision(outcome, subject))}`;
}

function hookText(hook: HookName, ms: number): string {
  return `runs its hook ${hook} (for ${duration(ms)})`;
}

function stoppingReason(state: StateOf<"stopping">, { holding, policy }: MessageContext, now: number): string {
  const after = state.next === "start" ? ", and starts again then" : "";
  if (state.phase === "after-stop")
    return `${howItEnded(programEnd(state.ending))}; ${hookText("afterStop", now - state.since)}${after}`;
  const causes = {
    operator: "is being stopped",
    terminate: "is being stopped by its schedule",
    timeout: "has run for its timeout and is being stopped",
    watch: "is being stopped for a changed file",
    unready: "was not ready in time and is being stopped",
    unhealthy: "failed its health checks and is being stopped",
    memory: "used too much memory and is being stopped",
    itself: "has ended; what it left behind is being ended",
  } as const;
  const phases = {
    spawning: "hookSince" in state ? ", with its hook beforeStart" : "",
    "waiting-dependents": `, when ${holding || "what depends on it"} has stopped`,
    grace: ", has time to finish by itself",
    terminate: `, was sent ${stopSignalOf(policy)}`,
    kill: ", was sent SIGKILL",
    cleanup: "",
    "cleanup-kill": "",
  } as const;
  return `${causes[state.cause]}${phases[state.phase]}${after}`;
}

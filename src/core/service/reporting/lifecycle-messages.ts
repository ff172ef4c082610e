/** The lifecycle line of a transition: what happened and why, in one sentence. */
import { duration } from "../../base/quantity.ts";
import {
  afterText,
  decisionText,
  dependenciesText,
  endAndTime,
  faultText,
  finishText,
  howItEnded,
  inParentheses,
  leftNote,
  skipText,
  startText,
  whyNone,
  whyUnhealthy,
} from "../../contract/words.ts";
import { faultOf } from "../../supervisor/machine.ts";
import { isSuccess, type Policy, stopSignalOf } from "../../supervisor/restart-policy.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { ExitInfo, RunningState, SlotState, Sweeping } from "../../supervisor/states.ts";
import {
  hasCurrentRun,
  isRunning,
  isStarting,
  isStopping,
  isSweeping,
  isWaiting,
  type StateOf,
  waitsForDependents,
} from "../../supervisor/verdict.ts";
import { error, info, type LogLine, warn } from "../log-line.ts";
import type { DependencyStatus } from "./dependency-status.ts";
import {
  faultRecord,
  idleDecision,
  type MessageContext,
  programEnd,
  restartDecision,
  timedEnd,
  unhealthyDecision,
} from "./run-ends.ts";

/** A stop that takes longer has a line of its own. Milliseconds. */
const SLOW_MS = 1_000;

/** The keeper had restarted the process already when a stop was requested. */
export function isRestartUndone(to: SlotState, from: SlotState): boolean {
  return isStopping(to) && to.run !== from.run;
}

/** The run that the line of a transition is about: the one that ends, otherwise the one that begins or is there. */
export function runOf({ from, to }: Transition): number | undefined {
  if (isWaiting(to)) return undefined;
  return hasCurrentRun(from) ? from.run : hasCurrentRun(to) ? to.run : undefined;
}

/** undefined: nothing worth a line. */
export function messageFor({ from, to, input }: Transition, subject: MessageContext): LogLine | undefined {
  switch (to.status) {
    case "running":
      return isRunning(from)
        ? probeMessage(from, to, input.at, subject)
        : isStarting(from)
          ? info(startText(to.pid))
          : undefined;
    case "starting":
      return input.type === "ended" || input.type === "swept" || (input.type === "hook-ended" && isStopping(from))
        ? restartMessage({ from, input }, to.restarts, subject.policy)
        : undefined;
    case "waiting":
      return waitingMessage(subject);
    case "backoff":
      return warn(
        `${endedAfter(from, to.ending, input.at)}; ${decisionText(restartDecision(to.restarts + 1, subject.policy, to.until - input.at))}`,
      );
    case "stopping":
      return isRestartUndone(to, from) && input.type === "ended"
        ? warn(`${endedAfter(from, input.ending, input.at)}; ${decisionText({ kind: "stop" })}`)
        : stoppingMessage(from, to, subject);
    case "idle":
      return idleMessage(from, to, { ...subject, at: input.at });
    default:
      return to satisfies never;
  }
}

function waitingMessage({ skip, waitsFor = [] }: DependencyStatus): LogLine | undefined {
  if (skip !== undefined) return warn(skipText(skip));
  return waitsFor.length > 0 ? info(`waits for ${dependenciesText(waitsFor)}`) : undefined;
}

function endedAfter(from: SlotState, ending: ExitInfo, at: number): string {
  return endAndTime(timedEnd(from, ending, at));
}

/** A probe or health check has changed the state of a run. */
function probeMessage(from: RunningState, to: RunningState, at: number, subject: MessageContext): LogLine | undefined {
  const { trouble } = subject;
  if (to.ready && !from.ready) return info(`ready after ${duration(at - to.since)}`);
  if (to.healthy === from.healthy) return undefined;
  if (to.healthy === true) return from.healthy === undefined ? undefined : info("is healthy again");
  return warn(`is not healthy${inParentheses(trouble)}; not restarted${whyUnhealthy(unhealthyDecision(subject))}`);
}

function restartMessage(
  { from, input }: Pick<Transition, "from" | "input">,
  restarts: number,
  policy: Policy,
): LogLine | undefined {
  const ending = endingOf(from, input);
  if (ending === undefined || restarts === 0) return info(`stopped${stopNote(from, ending)}; starts again`);
  const line = `${endedAfter(from, ending, input.at)}; restart ${restarts} at once`;
  return isSuccess(ending, policy) ? info(line) : warn(line);
}

/** Its leader has ended. */
function sweepingMessage(from: SlotState, to: Sweeping): LogLine | undefined {
  if (to.phase === "after-stop")
    return isRunning(from) ? info(`${endedAfter(from, to.ending, to.since)}; runs its hook afterStop`) : undefined;
  if (to.phase === "cleanup")
    return to.cause === "itself"
      ? warn(`${howItEnded(programEnd(to.ending))}, but left processes behind; stopping them`)
      : undefined;
  return isStopping(from) && from.phase !== "cleanup"
    ? undefined
    : warn("left processes behind that don't end; killing them");
}

function stoppingMessage(from: SlotState, to: StateOf<"stopping">, subject: MessageContext): LogLine | undefined {
  const { policy } = subject;
  if ("ending" in to) return sweepingMessage(from, to);
  if (to.phase === "kill")
    return warn(`did not end within ${duration(policy.terminateMs)} of ${stopSignalOf(policy)}; killing it`);
  if (to.phase === "waiting-dependents")
    return info(`is stopped when ${subject.dependents?.join(", ") || "what depends on it"} has stopped`);
  if (!isRunning(from) && !waitsForDependents(from)) return undefined;
  const stop = `stopping (${nextSignal(policy)})`;
  const how = to.cause === "idle" ? `no client for ${duration(policy.idleMs ?? 0)}; ${stop}` : stop;
  const fault = faultOf(to.cause);
  if (fault !== undefined) return warn(`${faultText(faultRecord(fault, subject))}; ${how}`);
  return { ...info(how), late: { ms: SLOW_MS, text: `still stopping (${nextSignal(policy, SLOW_MS)})` } };
}

/** What a run gets next that was asked to end before that time. */
function nextSignal(policy: Policy, ms = 0): string {
  const { graceMs, terminateMs } = policy;
  if (graceMs > ms) return `${stopSignalOf(policy)} in ${duration(graceMs - ms)}`;
  return `SIGKILL in ${duration(Math.max(0, graceMs + terminateMs - ms))} if it doesn't end`;
}

/** How a run ended that was stopped; empty: there was none, or nobody knows. @example " (SIGTERM)" */
function stopNote(from: SlotState, ending: ExitInfo | undefined): string {
  if (!isStopping(from) || ending?.kind !== "exited") return "";
  return ending.signal === null ? ` (code ${ending.code})` : ` (${ending.signal})`;
}

function idleMessage(from: SlotState, to: StateOf<"idle">, subject: MessageContext & { readonly at: number }): LogLine {
  const { outcome } = to;
  if (outcome.kind === "never-started") return info("is ready to be started");
  const end = outcome.ending === undefined ? {} : timedEnd(from, outcome.ending, subject.at);
  const left = leftNote(end.left);
  if (outcome.kind === "stopped" || outcome.kind === "asleep") {
    const after = isStopping(from) ? ` after ${duration(subject.policy.idleMs ?? 0)} without a client` : "";
    const [what, next] =
      outcome.kind === "asleep" ? [`asleep${after}`, "; its next client starts it"] : ["stopped", ""];
    const text = `${what}${stopNote(from, outcome.ending)}${left}${next}`;
    return left === "" ? info(text) : error(text);
  }
  if (outcome.kind === "finished") return info(`finished${finishText(end)}${afterText(end)}${left}`);
  const advice = outcome.kind === "exhausted" ? ", start it again when the cause is fixed" : "";
  return error(`${endAndTime(end)}; ${whyNone(idleDecision(outcome, subject))}${advice}`);
}

function endingOf(from: SlotState, input: Transition["input"]): ExitInfo | undefined {
  if (input.type === "ended") return input.ending;
  return isSweeping(from) ? from.ending : undefined;
}

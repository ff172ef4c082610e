/** The lifecycle line of a transition: what happened and why, in one sentence. */
import { duration } from "../../base/quantity.ts";
import { faultOf } from "../../supervisor/machine.ts";
import { isSuccess, type Policy, stopSignalOf, wantsRestart } from "../../supervisor/restart-policy.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { ExitInfo, Occupied, RunFault, RunningState, SlotState, Sweeping } from "../../supervisor/states.ts";
import {
  hasCurrentRun,
  isRunning,
  isStarting,
  isStopping,
  isSweeping,
  isWaiting,
  runsAfterStop,
  type StateOf,
  waitsForDependents,
} from "../../supervisor/verdict.ts";
import type { DependencyStatus } from "./dependency-status.ts";

export type LogLine = { readonly severity: "info" | "warn" | "error"; readonly text: string };

export type MessageContext = DependencyStatus & {
  readonly policy: Policy;
  readonly blocked: boolean;
  /** The option of `procman run` because of which it isn't restarted. */
  readonly noRestartBy?: string;
  /** The last problem found with its run. */
  readonly trouble?: string | undefined;
  /** Why its log files can't be written now. */
  readonly logProblem?: string | undefined;
};

/** The keeper had restarted the process already when a stop was requested. */
export const RESTART_UNDONE = "the automatic restart is being stopped again";

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
          ? info(`started (pid ${to.pid})`)
          : undefined;
    case "starting":
      return input.type === "ended" || input.type === "swept" || (input.type === "hook-ended" && isStopping(from))
        ? restartMessage({ from, input }, to.restarts, subject.policy)
        : undefined;
    case "waiting":
      return waitingMessage(subject);
    case "backoff":
      return warn(
        `${describeEnd(from, to.ending, input.at)}; restart ${to.restarts + 1}${ofLimit(subject.policy)} ${delayText(to.until - input.at)}`,
      );
    case "stopping":
      return isRestartUndone(to, from) && input.type === "ended"
        ? warn(`${describeEnd(from, input.ending, input.at)}; ${RESTART_UNDONE}`)
        : stoppingMessage(from, to, subject);
    case "idle":
      return idleMessage(from, to, { ...subject, at: input.at });
    default:
      return to satisfies never;
  }
}

function waitingMessage({ skip, waitsFor }: DependencyStatus): LogLine | undefined {
  if (skip !== undefined) return warn(skip.text);
  return waitsFor ? info(`waits for ${waitsFor}`) : undefined;
}

export function describe(ending: ExitInfo): string {
  switch (ending.kind) {
    case "exited":
      return `${ending.signal === null ? `exited with code ${ending.code}${shellHint(ending.code)}` : `was ended by ${ending.signal}`}${memoryNote(ending)}${portNote(ending)}${leftNote(ending)}`;
    case "unstartable":
      return `could not be started: ${ending.message}`;
    case "unknown":
      return ending.unseen === true
        ? "was being started when procman was killed; whether it has run is not known"
        : `ended${memoryNote(ending)}, and its exit code is not known (procman was killed during its run)${leftNote(ending)}`;
    default:
      return ending satisfies never;
  }
}

/** Programs that fork faster than they can be stopped, and that no cgroup holds. */
export function leftNote(ending: ExitInfo | undefined): string {
  const left = ending === undefined || ending.kind === "unstartable" ? 0 : (ending.left ?? 0);
  return left === 0 ? "" : `; still ${left} ${left === 1 ? "process" : "processes"} of it, which can't be ended`;
}

function memoryNote({ outOfMemory }: { readonly outOfMemory?: true }): string {
  return outOfMemory === true ? " (out of memory)" : "";
}

function portNote({ occupied }: { readonly occupied?: Occupied }): string {
  if (occupied === undefined) return "";
  const { port, by, own } = occupied;
  if (own === undefined) return ` (its port ${port} is held by ${by}; end that, or choose another port)`;
  return ` (port ${port}, which it may want, is held by ${by}; each instance must listen on its own port, here ${own}, which it finds in PROCMAN_CLUSTER_PORT)`;
}

export function delayText(ms: number): string {
  return ms <= 0 ? "at once" : `in ${duration(ms)}`;
}

/** A probe or health check has changed the state of a run. */
function probeMessage(from: RunningState, to: RunningState, at: number, subject: MessageContext): LogLine | undefined {
  const { trouble } = subject;
  if (to.ready && !from.ready) return info(`ready after ${duration(at - to.since)}`);
  if (to.healthy === from.healthy) return undefined;
  if (to.healthy === true) return from.healthy === undefined ? undefined : info("is healthy again");
  return warn(`is not healthy${inParentheses(trouble)}; not restarted${whyNoRestart(subject)}`);
}

/** Why an unhealthy run goes on, to follow "not restarted". */
export function whyNoRestart({ blocked, noRestartBy, healthHold, policy }: MessageContext): string {
  if (blocked) return ", as it is blocked";
  if (noRestartBy !== undefined) return `, because of ${noRestartBy}`;
  if (!wantsRestart(policy, true)) return ", as it has no restart policy";
  return healthHold === undefined ? " yet" : `: ${healthHold}`;
}

/** Why a run was stopped, to follow "it". */
export function faultText(fault: RunFault, { policy, trouble }: MessageContext): string {
  switch (fault) {
    case "timeout":
      return `has run for its timeout of ${duration(policy.timeoutMs)}`;
    case "unready":
      return `was not ready within ${duration(policy.readyMs ?? 0)}${inParentheses(trouble)}`;
    case "unhealthy":
      return `failed its health checks${inParentheses(trouble)}`;
    case "memory":
      return `used too much memory${inParentheses(trouble)}`;
    default:
      return fault satisfies never;
  }
}

/** How a run ended, with the reason if procman stopped it for a fault. */
export function describeFailure({ ending, fault }: FailureText, subject: MessageContext): string {
  return fault === undefined ? describe(ending) : `${faultText(fault, subject)}; it ${describe(ending)}`;
}

type FailureText = { readonly ending: ExitInfo; readonly fault?: RunFault };

export function inParentheses(trouble: string | undefined): string {
  return trouble === undefined ? "" : ` (${trouble})`;
}

function restartMessage(
  { from, input }: Pick<Transition, "from" | "input">,
  restarts: number,
  policy: Policy,
): LogLine | undefined {
  const ending = endingOf(from, input);
  if (ending === undefined || restarts === 0) return info("stopped; starts again");
  const line = `${describeEnd(from, ending, input.at)}; restart ${restarts} at once`;
  return isSuccess(ending, policy) ? info(line) : warn(line);
}

/** Its leader has ended. */
function sweepingMessage(from: SlotState, to: Sweeping): LogLine | undefined {
  if (to.phase === "after-stop")
    return isRunning(from) ? info(`${describeEnd(from, to.ending, to.since)}; runs its hook afterStop`) : undefined;
  if (to.phase === "cleanup")
    return to.cause === "itself"
      ? warn(`${describe(to.ending)}, but left processes behind; they are being ended`)
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
    return info(`is stopped when ${subject.holding || "what depends on it"} has stopped`);
  if (!isRunning(from) && !waitsForDependents(from)) return undefined;
  const how =
    policy.graceMs > 0
      ? `${stopSignalOf(policy)} in ${duration(policy.graceMs)}`
      : `SIGKILL in ${duration(policy.terminateMs)} if it doesn't end`;
  const fault = faultOf(to.cause);
  return fault === undefined ? info(`stopping (${how})`) : warn(`${faultText(fault, subject)}; stopping (${how})`);
}

function idleMessage(from: SlotState, to: StateOf<"idle">, subject: MessageContext & { readonly at: number }): LogLine {
  const { outcome } = to;
  const { policy, at } = subject;
  switch (outcome.kind) {
    case "never-started":
      return info("is ready to be started");
    case "stopped":
      return leftNote(outcome.ending) === "" ? info("stopped") : error(`stopped${leftNote(outcome.ending)}`);
    case "finished":
      return info(`finished${finishText(outcome.ending)}${runtimeText(from, at)}${leftNote(outcome.ending)}`);
    case "failed":
      return error(`${describeEnd(from, outcome.ending, at)}; ${whyNotRestarted(outcome.ending, subject)}`);
    case "exhausted":
      return error(
        `${describeEnd(from, outcome.ending, at)}; ${restartsUsedUp(policy)}, start it again when the cause is fixed`,
      );
    default:
      return outcome satisfies never;
  }
}

/** How a run ended that counts as success. */
export function finishText(ending: ExitInfo): string {
  if (ending.kind !== "exited" || ending.code === 0) return "";
  return ending.signal === null ? ` with code ${ending.code}` : ` by ${ending.signal}`;
}

export function whyNotRestarted(ending: ExitInfo, { policy, blocked, noRestartBy }: MessageContext): string {
  if (blocked) return "not restarted, as it is blocked";
  if (ending.kind === "unstartable" && ending.permanent) return "not tried again";
  if (noRestartBy !== undefined) return `not restarted, because of ${noRestartBy}`;
  return policy.restart === "never" ? "not restarted (it has no restart policy)" : "not restarted";
}

function endingOf(from: SlotState, input: Transition["input"]): ExitInfo | undefined {
  if (input.type === "ended") return input.ending;
  return isSweeping(from) ? from.ending : undefined;
}

export function describeEnd(from: SlotState, ending: ExitInfo, at: number): string {
  if (ending.kind === "unknown") return describe(ending);
  return `${describe(ending)}${runtimeText(from, at)}`;
}

function runtimeText(from: SlotState, at: number): string {
  const started = isRunning(from) ? from.since : isStopping(from) && "started" in from ? from.started : undefined;
  const ended = endTimeOf(from, at);
  return started === undefined || ended < started ? "" : ` after ${duration(ended - started)}`;
}

/** Monotonic milliseconds. A run has ended before its hook afterStop. `at`: when that became known. */
export function endTimeOf(from: SlotState, at: number): number {
  return runsAfterStop(from) ? from.since : at;
}

export function restartsUsedUp({ restartLimit }: Policy): string {
  return restartLimit === 0
    ? "no restart is allowed"
    : restartLimit === 1
      ? "its one restart is used up"
      : `its ${restartLimit} restarts are used up`;
}

export function ofLimit({ restartLimit }: Policy): string {
  return restartLimit === Number.POSITIVE_INFINITY ? "" : ` of ${restartLimit}`;
}

/** POSIX 2.8.2: exit codes of a shell that could not run a command. */
function shellHint(code: number | null): string {
  if (code === 127) return " (the shell found no such command)";
  return code === 126 ? " (the command may not be executed)" : "";
}

export function info(text: string): LogLine {
  return { severity: "info", text };
}

export function warn(text: string): LogLine {
  return { severity: "warn", text };
}

export function error(text: string): LogLine {
  return { severity: "error", text };
}

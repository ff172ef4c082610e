/** How a run ended and what follows, as the data of records: from the states of the machine. */
import type { DecisionRecord, EndRecord } from "../../contract/causes.ts";
import { type Policy, wantsRestart } from "../../supervisor/restart-policy.ts";
import type { ExitInfo, Occupied, RunFault, RunOutcome, SlotState } from "../../supervisor/states.ts";
import { isIdle, isRunning, isStopping, runsAfterStop } from "../../supervisor/verdict.ts";
import type { DependencyStatus } from "./dependency-status.ts";

/** What the sentences about a process need beside its state. */
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

/** How the program ended. */
export type ProgramEnd = Omit<EndRecord, "kind">;

export function programEnd(ending: ExitInfo): ProgramEnd {
  if (ending.kind === "unstartable") return { message: ending.message };
  const { outOfMemory, left, occupied } = ending;
  return {
    ...(ending.kind === "exited" && ending.code !== null && { code: ending.code }),
    ...(ending.kind === "exited" && ending.signal !== null && { signal: ending.signal }),
    ...(ending.kind === "unknown" && ending.unseen && { unseen: true }),
    ...(outOfMemory && { outOfMemory }),
    ...(occupied !== undefined && { port: portOf(occupied) }),
    ...(left !== undefined && { left }),
  };
}

export function portOf({ by: program, ...port }: Occupied): NonNullable<EndRecord["port"]> {
  return { ...port, program };
}

/** The same, with the time that it ran. `at`: when the end became known. */
export function timedEnd(from: SlotState, ending: ExitInfo, at: number): ProgramEnd {
  const started = isRunning(from) ? from.since : isStopping(from) && "started" in from ? from.started : undefined;
  const ended = endTimeOf(from, at);
  const isKnown = ending.kind !== "unknown" && started !== undefined && ended >= started;
  return { ...programEnd(ending), ...(isKnown && { afterMs: Math.round(ended - started) }) };
}

/** Monotonic milliseconds. A run has ended before its hook afterStop. `at`: when that became known. */
export function endTimeOf(from: SlotState, at: number): number {
  return runsAfterStop(from) ? from.since : at;
}

/** The fault for which a run is stopped. */
export function faultRecord(
  kind: RunFault,
  { policy, trouble }: MessageContext,
): Pick<EndRecord, "kind" | "limitMs" | "problem"> {
  const limits: Partial<Record<RunFault, number>> = { timeout: policy.timeoutMs, unready: policy.readyMs ?? 0 };
  const limitMs = limits[kind];
  return {
    kind,
    ...(limitMs !== undefined && { limitMs }),
    ...(kind !== "timeout" && trouble !== undefined && { problem: trouble }),
  };
}

/** How the last run ended of a process that is not restarted at once. */
export function lastEndOf(
  { ending, fault }: { readonly ending: ExitInfo; readonly fault?: RunFault },
  subject: MessageContext,
): EndRecord {
  return { ...(fault === undefined ? { kind: kindOf(ending) } : faultRecord(fault, subject)), ...programEnd(ending) };
}

/** How a process has failed permanently; empty: it has not. */
export function failureIn(
  states: readonly SlotState[],
  subject: MessageContext,
): { readonly end?: EndRecord; readonly next?: DecisionRecord } {
  const [outcome] = states.flatMap((state) => (isIdle(state) ? state.outcome : [])).filter(isFailure);
  return outcome === undefined ? {} : { end: lastEndOf(outcome, subject), next: idleDecision(outcome, subject) };
}

function isFailure(outcome: RunOutcome): outcome is RunOutcome & { readonly kind: "failed" | "exhausted" } {
  return outcome.kind === "failed" || outcome.kind === "exhausted";
}

/** Why an unhealthy run goes on. */
export function unhealthyDecision({
  blocked,
  noRestartBy: option,
  healthHold,
  policy,
}: MessageContext): DecisionRecord {
  if (blocked) return { kind: "none", why: "blocked" };
  if (option !== undefined) return { kind: "none", why: "option", option };
  if (!wantsRestart(policy, true)) return { kind: "none", why: "policy" };
  return healthHold === undefined ? { kind: "none" } : { kind: "none", why: "instances", ...healthHold };
}

/** Why a run ended that procman has not stopped. */
export function kindOf(ending: ExitInfo): "exit" | "signal" | "unstartable" | "unknown" {
  if (ending.kind !== "exited") return ending.kind;
  return ending.signal === null ? "exit" : "signal";
}

export function restartDecision(restart: number, { restartLimit }: Policy, delayMs = 0): DecisionRecord {
  const ms = Math.round(delayMs);
  return { kind: "restart", restart, ...limitOf(restartLimit), ...(ms > 0 && { delayMs: ms }) };
}

/** Why an idle process is not restarted. */
export function idleDecision(outcome: RunOutcome, subject: MessageContext): DecisionRecord {
  switch (outcome.kind) {
    case "exhausted":
      return { kind: "none", why: "exhausted", ...limitOf(subject.policy.restartLimit) };
    case "failed":
      return { kind: "none", ...whyNotRestarted(outcome.ending, subject) };
    case "finished":
    case "asleep":
      return { kind: "none", why: outcome.kind };
    default:
      return { kind: "none", why: "stopped" };
  }
}

function whyNotRestarted(
  ending: ExitInfo,
  { policy, blocked, noRestartBy: option }: MessageContext,
): Pick<DecisionRecord, "why" | "option"> {
  if (blocked) return { why: "blocked" };
  if (ending.kind === "unstartable" && ending.permanent) return { why: "permanent" };
  if (option !== undefined) return { why: "option", option };
  return { why: policy.restart === "never" ? "policy" : "failed" };
}

function limitOf(limit: number): Pick<DecisionRecord, "limit"> {
  return limit === Number.POSITIVE_INFINITY ? {} : { limit };
}

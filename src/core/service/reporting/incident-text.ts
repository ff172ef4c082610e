/** Makes the incident of a run from the transition that ended it: cause, reason, decision. */
import { duration } from "../../base/quantity.ts";
import type { Incident } from "../../contract/records.ts";
import { isSuccess } from "../../supervisor/restart-policy.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { ExitInfo } from "../../supervisor/states.ts";
import {
  hasCurrentRun,
  isRunning,
  isStarting,
  isStoppedFor,
  isStopping,
  type StateOf,
  startsAgain,
} from "../../supervisor/verdict.ts";
import { processOf } from "../spec-registry.ts";
import {
  describeEnd,
  endTimeOf,
  faultText,
  isRestartUndone,
  type MessageContext,
  ofLimit,
  RESTART_UNDONE,
  restartsUsedUp,
  whyNotRestarted,
} from "./lifecycle-messages.ts";
import { toIsoTime } from "./wall-clock.ts";

/** What the transition itself doesn't say. */
export type IncidentContext = {
  readonly messageContext: MessageContext;
  /** Why procman is shutting down; absent: it isn't. */
  readonly shutdownReason?: string | undefined;
  /** The latest request to end it: by a consumer, or for another reason. */
  readonly requestedBy?: RequestedBy;
  /** Whether the kernel has just killed a process for lack of memory; claims that kill for this run. */
  readonly claimOomKill: () => boolean;
};

export type RequestedBy = { readonly by?: string; readonly why?: string };

/** Exit code of a shell whose command got SIGKILL. */
const KILLED_CODE = 137;

type EndedRun = StateOf<"starting" | "running" | "stopping">;

/** How the run has ended; undefined: it has not. */
export function endOf({ from, to, input }: Transition): ExitInfo | undefined {
  if (!hasCurrentRun(from) || (hasCurrentRun(to) && to.run === from.run)) return undefined;
  // A stop has ended the hook, before anything was started.
  if (isStopping(from) && from.phase === "spawning" && from.hookSince !== undefined) return undefined;
  return input.type === "ended" ? input.ending : "ending" in from ? from.ending : undefined;
}

export function incidentOf(
  transition: Transition,
  ending: ExitInfo,
  context: IncidentContext,
): Omit<Incident, "metrics"> {
  const { slot, input } = transition;
  const from = transition.from as EndedRun;
  const cause = causeOf(from, ending, context);
  const { by } = cause === "operator" ? (context.requestedBy ?? {}) : {};
  const started = startOf(from);
  return {
    time: toIsoTime(endTimeOf(from, input.at)),
    process: processOf(slot),
    run: from.run,
    cause,
    reason: reasonOf(cause, describeEnd(from, ending, input.at), context),
    ...(ending.kind === "exited" && ending.code !== null ? { code: ending.code } : {}),
    ...(ending.kind === "exited" && ending.signal !== null ? { signal: ending.signal } : {}),
    ...(countsAsSuccess(cause, ending, context) && { success: true as const }),
    ...("pid" in from ? { pid: from.pid } : {}),
    ...(started === undefined ? {} : { started: toIsoTime(started) }),
    ...(by === undefined ? {} : { by }),
    decision: decisionOf(transition, ending, context.messageContext),
    lines: [],
  };
}

/** A start begins with its hook. Monotonic milliseconds. */
function startOf(from: EndedRun): number | undefined {
  if (isRunning(from)) return from.since;
  if (isStarting(from)) return from.hookSince;
  return "started" in from ? from.started : undefined;
}

/** Although its code isn't 0. */
function countsAsSuccess(
  cause: Incident["cause"],
  ending: ExitInfo,
  { messageContext: { policy } }: IncidentContext,
): boolean {
  return (cause === "exit" || cause === "signal") && !isSuccess(ending, {}) && isSuccess(ending, policy);
}

function causeOf(
  from: EndedRun,
  ending: ExitInfo,
  { shutdownReason, requestedBy, claimOomKill }: IncidentContext,
): Incident["cause"] {
  if (ending.kind === "unstartable") return "unstartable";
  if (isStoppedFor(from, "operator"))
    return shutdownReason !== undefined && requestedBy === undefined ? "shutdown" : "operator";
  if (isStopping(from) && from.cause !== "itself") return from.cause;
  if (isOutOfMemory(ending, claimOomKill)) return "out-of-memory";
  if (ending.kind === "unknown") return "unknown";
  return ending.signal === null ? "exit" : "signal";
}

/** Reported by its cgroup, or else counted by the kernel. A reported kill is counted, too, so it is claimed before a later end can. */
function isOutOfMemory(
  ending: ExitInfo & { readonly kind: "exited" | "unknown" },
  claimOomKill: () => boolean,
): boolean {
  if (ending.kind === "unknown") return ending.outOfMemory === true;
  const isKilled = ending.signal === "SIGKILL" || ending.code === KILLED_CODE;
  return isKilled && (claimOomKill() || ending.outOfMemory === true);
}

function reasonOf(
  cause: Incident["cause"],
  end: string,
  { messageContext, requestedBy, shutdownReason }: IncidentContext,
): string {
  switch (cause) {
    case "exit":
    case "unstartable":
    case "unknown":
      return end;
    case "watch":
      return `was restarted ${requestedBy?.why === undefined ? "for a changed file" : `as ${requestedBy.why}`}; it ${end}`;
    case "signal":
      return `${end}, not sent by procman`;
    case "out-of-memory":
      return `${end}: the kernel killed it, as memory ran out`;
    case "timeout":
    case "unready":
    case "unhealthy":
    case "memory":
      return `was stopped, as it ${faultText(cause, messageContext)}; it ${end}`;
    case "terminate":
      return `was stopped by its schedule; it ${end}`;
    case "shutdown":
      return `was stopped with procman (${shutdownReason}); it ${end}`;
    case "operator":
      return `was stopped${requestedBy?.by === undefined ? (requestedBy?.why === undefined ? "" : ` (${requestedBy.why})`) : ` by ${requestedBy.by}`}; it ${end}`;
    default:
      return cause satisfies never;
  }
}

function decisionOf({ from, to, input }: Transition, ending: ExitInfo, subject: MessageContext): string {
  const { policy } = subject;
  switch (to.status) {
    case "backoff":
      return `restart ${to.restarts + 1}${ofLimit(policy)} in ${duration(Math.max(0, to.until - input.at))}`;
    case "starting":
      return startsAgain(from) || to.restarts === 0
        ? "starts again at once"
        : `restart ${to.restarts}${ofLimit(policy)} at once`;
    case "waiting":
      return "starts again when its dependencies are up";
    case "idle":
      return `none: ${whyIdle(to, ending, subject)}`;
    case "stopping":
      return isRestartUndone(to, from) ? RESTART_UNDONE : "none";
    case "running":
      return "none";
    default:
      return to satisfies never;
  }
}

function whyIdle({ outcome }: StateOf<"idle">, ending: ExitInfo, subject: MessageContext): string {
  if (outcome.kind === "exhausted") return restartsUsedUp(subject.policy);
  if (outcome.kind === "failed") return whyNotRestarted(ending, subject);
  return outcome.kind === "finished" || isSuccess(ending, subject.policy) ? "it has finished" : "it was stopped";
}

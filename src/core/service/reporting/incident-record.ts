/** Makes the incident of a run from the transition that ended it: how it ended, why, and what follows. */
import { compact } from "../../base/compact.ts";
import type { DecisionRecord, EndRecord, RequestRecord } from "../../contract/causes.ts";
import type { Incident, RunIncident } from "../../contract/run-summary.ts";
import { decisionText, reasonText } from "../../contract/words.ts";
import { coreOf } from "../../os/core-dump.ts";
import type { Process } from "../../supervisor/process.ts";
import { isSuccess } from "../../supervisor/restart-policy.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { ExitInfo, Occupied } from "../../supervisor/states.ts";
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
import { isRestartUndone } from "./lifecycle-messages.ts";
import {
  endTimeOf,
  faultRecord,
  idleDecision,
  kindOf,
  type MessageContext,
  type ProgramEnd,
  portOf,
  restartDecision,
  timedEnd,
} from "./run-ends.ts";
import { toIsoTime } from "./wall-clock.ts";

/** What the transition itself doesn't say. */
export type IncidentContext = {
  readonly messageContext: MessageContext;
  /** Why procman is shutting down; absent: it isn't. */
  readonly shutdownReason?: string | undefined;
  /** The latest request to end it. */
  readonly request?: RequestRecord;
  /** Whether the kernel has just killed a process for lack of memory; claims that kill for this run. */
  readonly claimOomKill: () => boolean;
};

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
): Omit<RunIncident, "metrics"> {
  const { slot, input } = transition;
  const from = transition.from as EndedRun;
  const cause = causeOf(from, ending, context);
  const end = endRecord(cause, timedEnd(from, ending, input.at), context);
  const next = decisionOf(transition, ending, context.messageContext);
  const { code, signal, request } = end;
  const started = startOf(from);
  return compact({
    time: toIsoTime(endTimeOf(from, input.at)),
    process: processOf(slot),
    run: from.run,
    cause,
    reason: reasonText(end),
    code,
    signal,
    ...(countsAsSuccess(cause, ending, context) && { success: true as const }),
    ...("pid" in from && { pid: from.pid }),
    ...(started !== undefined && { started: toIsoTime(started) }),
    ...(cause === "operator" && request?.by !== undefined && { by: request.by }),
    decision: decisionText(next),
    end,
    next,
    lines: [],
  });
}

/** Ids under which incidents of these are kept, when `asked` was named: also those of clusters, but not for an instance alone. */
export function recordedIds(processes: readonly Process[], asked: string): readonly string[] {
  const clusters = processes.flatMap(({ id, definition }) => (id === asked ? [] : (definition.cluster ?? [])));
  return [...processes.map(({ id }) => id), ...new Set(clusters)];
}

/** Whether it may have failed because another program has its port. */
export function mayLackPort({ cause, success }: Omit<Incident, "metrics">): boolean {
  return (cause === "exit" || cause === "unready") && success !== true;
}

/** The same incident with the port that another program has, if it wasn't known at the end. */
export function withPort(incident: Incident, port: Occupied | undefined): Incident {
  if (port === undefined || incident.end === undefined || incident.end.port !== undefined) return incident;
  const end = { ...incident.end, port: portOf(port) };
  return { ...incident, end, reason: reasonText(end) };
}

/** The same incident with the place of its core dump, if it has one. `folder`: in which it was started. */
export function withCore(incident: Incident, folder = "/"): Incident {
  const { pid, signal, time, started = time, end } = incident;
  if (pid === undefined || signal === undefined || end === undefined) return incident;
  const core = coreOf({ pid, signal, folder, started: Date.parse(started), ended: Date.parse(time) });
  return core === undefined ? incident : { ...incident, end: { ...end, core } };
}

/** A start begins with its hook. Monotonic milliseconds. */
function startOf(from: EndedRun): number | undefined {
  if (isRunning(from)) return from.since;
  if (isStarting(from)) return from.hookSince;
  return "started" in from ? from.started : undefined;
}

/** Although its code isn't 0. */
function countsAsSuccess(
  cause: RunIncident["cause"],
  ending: ExitInfo,
  { messageContext: { policy } }: IncidentContext,
): boolean {
  return (cause === "exit" || cause === "signal") && !isSuccess(ending, {}) && isSuccess(ending, policy);
}

function causeOf(
  from: EndedRun,
  ending: ExitInfo,
  { shutdownReason, request, claimOomKill }: IncidentContext,
): RunIncident["cause"] {
  if (ending.kind === "unstartable") return "unstartable";
  if (isStoppedFor(from, "operator"))
    return shutdownReason !== undefined && request === undefined ? "shutdown" : "operator";
  if (isStopping(from) && from.cause !== "itself") return from.cause;
  if (isOutOfMemory(ending, claimOomKill)) return "out-of-memory";
  return kindOf(ending);
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

function endRecord(
  kind: EndRecord["kind"],
  end: ProgramEnd,
  { messageContext, request, shutdownReason: reason = "" }: IncidentContext,
): EndRecord {
  switch (kind) {
    case "timeout":
    case "unready":
    case "unhealthy":
    case "memory":
      return { ...faultRecord(kind, messageContext), ...end };
    case "shutdown":
      return { kind, ...end, request: { kind: "shutdown", reason } };
    case "operator":
    case "watch":
      return { kind, ...end, ...(request && { request }) };
    default:
      return { kind, ...end };
  }
}

function decisionOf({ from, to, input }: Transition, ending: ExitInfo, subject: MessageContext): DecisionRecord {
  const { policy } = subject;
  switch (to.status) {
    case "backoff":
      return restartDecision(to.restarts + 1, policy, to.until - input.at);
    case "starting":
      return startsAgain(from) || to.restarts === 0 ? { kind: "start" } : restartDecision(to.restarts, policy);
    case "waiting":
      return { kind: "wait" };
    case "idle":
      return to.outcome.kind === "stopped" && isSuccess(ending, policy)
        ? { kind: "none", why: "finished" }
        : idleDecision(to.outcome, subject);
    case "stopping":
      return { kind: isRestartUndone(to, from) ? "stop" : "none" };
    case "running":
      return { kind: "none" };
    default:
      return to satisfies never;
  }
}

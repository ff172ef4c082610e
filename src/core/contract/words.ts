/** The sentences about ends, requests and decisions, from their data: for log, records, `why` and status. */
import { addressText } from "../base/address-text.ts";
import { duration } from "../base/quantity.ts";
import { hostTime } from "../base/time-stamp.ts";
import type { DecisionRecord, EndRecord, RequestRecord, StatusCause } from "./causes.ts";
import type { LogEntry, LogQuery, ProcessRecord } from "./records.ts";

const STARTED = "started (pid ";

/** Finds the stored entries about starts of runs, among others that quote one. */
export const STARTS: Pick<LogQuery, "categories" | "search"> = { categories: ["lifecycle"], search: STARTED };

export function startText(pid: number): string {
  return `${STARTED}${pid})`;
}

/** The pid in a stored entry about the start of a run: the one text that is read again, as entries have no other mark of it. */
export function startedPid({ text }: LogEntry): number | undefined {
  const [, pid] = /^started \(pid (\d+)\)/.exec(text) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

/** How the program ended. @example howItEnded(end) // "exited with code 3" */
export function howItEnded({
  code,
  signal,
  message,
  unseen,
  outOfMemory,
  port,
  left,
}: Omit<EndRecord, "kind">): string {
  if (message !== undefined) return `could not be started: ${message}`;
  if (unseen === true) return "was being started when procman was killed; whether it ran is unknown";
  const memory = outOfMemory === true ? " (out of memory)" : "";
  if (code === undefined && signal === undefined)
    return `ended${memory}, exit code unknown (procman was killed during the run)${leftNote(left)}`;
  const how = signal === undefined ? `exited with code ${code}${shellHint(code)}` : `was killed by ${signal}`;
  return `${how}${memory}${portNote(port)}${leftNote(left)}`;
}

/** @example endAndTime(end) // "exited with code 3 after 5 s" */
export function endAndTime(end: Omit<EndRecord, "kind">): string {
  return `${howItEnded(end)}${afterText(end)}`;
}

export function afterText({ afterMs }: Pick<EndRecord, "afterMs">): string {
  return afterMs === undefined ? "" : ` after ${duration(afterMs)}`;
}

/** How a run ended that counts as success, to follow "finished". */
export function finishText({ code, signal }: Pick<EndRecord, "code" | "signal">): string {
  if (signal !== undefined) return ` by ${signal}`;
  return code === undefined || code === 0 ? "" : ` with code ${code}`;
}

/** Programs that fork faster than they can be stopped, and that no cgroup holds. */
export function leftNote(left = 0): string {
  return left === 0 ? "" : `; ${left} of its ${left === 1 ? "processes is" : "processes are"} left and can't be killed`;
}

/** POSIX 2.8.2: exit codes of a shell that could not run a command. */
function shellHint(code: number | undefined): string {
  if (code === 127) return " (the shell found no such command)";
  return code === 126 ? " (the command is not executable)" : "";
}

function portNote(occupied: EndRecord["port"]): string {
  return occupied === undefined ? "" : ` (${portText(occupied)})`;
}

/** Who has the port that a run wanted. */
export function portText({ port, program, process, own, chosen }: NonNullable<EndRecord["port"]>): string {
  const holder = process === undefined ? program : `${process}, ${program}`;
  if (chosen === true) return `its port ${port} is in use by ${holder}; a reload gives it another one`;
  if (own === undefined) return `its port ${port} is in use by ${holder}; stop it, or choose another port`;
  return `port ${port}, which it may want, is in use by ${holder}; each instance must listen on its own port, here ${own}, which it finds in PROCMAN_CLUSTER_PORT`;
}

/** Why procman has stopped a run, to follow "it"; undefined: for none of these faults. */
export function faultText({ kind, limitMs = 0, problem }: Pick<EndRecord, "kind" | "limitMs" | "problem">): string {
  switch (kind) {
    case "timeout":
      return `exceeded its timeout of ${duration(limitMs)}`;
    case "unready":
      return `was not ready within ${duration(limitMs)}${inParentheses(problem)}`;
    case "unhealthy":
      return `failed its health checks${inParentheses(problem)}`;
    case "memory":
      return `used too much memory${inParentheses(problem)}`;
    default:
      return "";
  }
}

export function inParentheses(problem: string | undefined): string {
  return problem === undefined ? "" : ` (${problem})`;
}

/** How a run ended, with the fault for which procman has stopped it: for the status. */
function failureText(end: EndRecord): string {
  const fault = faultText(end);
  return fault === "" ? howItEnded(end) : `${fault}; it ${howItEnded(end)}`;
}

/** How a run ended, and why: for incidents. */
export function reasonText(end: EndRecord): string {
  const how = endAndTime(end);
  const { kind, request } = end;
  const asked = request === undefined ? "" : requestText(request);
  switch (kind) {
    case "exit":
    case "unstartable":
    case "unknown":
      return how;
    case "signal":
      return `${how}, not sent by procman`;
    case "out-of-memory":
      return `${how}: the kernel killed it because memory ran out`;
    case "timeout":
    case "unready":
    case "unhealthy":
    case "memory":
      return `was stopped because it ${faultText(end)}; it ${how}`;
    case "terminate":
      return `was stopped by its schedule; it ${how}`;
    case "idle":
      return `was stopped because it had no client; it ${how}`;
    case "watch":
      return `was restarted ${asked === "" ? "for a changed file" : `because ${asked}`}; it ${how}`;
    case "shutdown":
      return `was stopped with procman${asked === "" ? "" : ` (${asked})`}; it ${how}`;
    case "operator":
      return `was stopped${request?.kind === "consumer" ? ` by ${asked}` : asked === "" ? "" : ` (${asked})`}; it ${how}`;
    default:
      return kind satisfies never;
  }
}

export function requestText(request: RequestRecord): string {
  const { kind, by = "", process, files = [], count = files.length, reason = "" } = request;
  switch (kind) {
    case "consumer":
      return by;
    case "configuration":
      return "its configuration has changed";
    case "removed":
      return request.to === undefined ? "no longer in the configuration" : smallerText(request.to);
    case "scaled":
      return scalingText(request);
    case "dependency":
      return `${process ?? HIDDEN}, on which it depends, was started again`;
    case "files":
      return filesText({ files, count });
    case "shutdown":
      return reason;
    default:
      return kind satisfies never;
  }
}

/** @example smallerText(2) // "its cluster has 2 instances in the file" */
export function smallerText(instances: number): string {
  return `its cluster has ${instances} ${instances === 1 ? "instance" : "instances"} in the file`;
}

/** @example scalingText({ kind: "scaled", from: 4, to: 2, by: "cli" }) // "its cluster was scaled from 4 to 2 by cli" */
function scalingText({ from, to, by, reason }: RequestRecord): string {
  const who = by === undefined ? "" : ` by ${by}`;
  return `its cluster was scaled from ${from} to ${to}${who}${reason === undefined ? "" : `: ${reason}`}`;
}

/** In place of the name of a process that a limited token doesn't see. */
export const HIDDEN = "another process";

/** "src/a.ts and 2 others have changed" */
export function filesText({
  files: [file = ""],
  count,
}: {
  readonly files: readonly string[];
  readonly count: number;
}): string {
  if (count === 1) return `${file} has changed`;
  return `${file} and ${count === 2 ? "another" : `${count - 1} others`} have changed`;
}

/** @example decisionText({ kind: "restart", restart: 2, limit: 5, delayMs: 400 }) // "restart 2 of 5 in 400 ms" */
export function decisionText(decision: DecisionRecord): string {
  const { kind, delayMs } = decision;
  switch (kind) {
    case "restart":
      return `${restartText(decision)} ${delayMs === undefined ? "at once" : `in ${duration(delayMs)}`}`;
    case "start":
      return "starts again at once";
    case "wait":
      return "starts again when its dependencies are up";
    case "stop":
      return "the restarted run is being stopped";
    case "none":
      return decision.why === undefined ? "none" : `none: ${whyNone(decision)}`;
    default:
      return kind satisfies never;
  }
}

function restartText({ restart, limit }: Pick<DecisionRecord, "restart" | "limit">): string {
  return `restart ${restart}${limit === undefined ? "" : ` of ${limit}`}`;
}

/** Why nothing follows the end of a run. */
export function whyNone({ why = "stopped", limit, option }: Omit<DecisionRecord, "kind">): string {
  switch (why) {
    case "stopped":
      return "it was stopped";
    case "asleep":
      return "its next client starts it";
    case "finished":
      return "it has finished";
    case "exhausted":
      if (limit === 0) return "no restart is allowed";
      return limit === 1 ? "its one restart is used up" : `its ${limit} restarts are used up`;
    case "blocked":
      return "not restarted: it is blocked";
    case "permanent":
      return "not retried";
    case "option":
      return `not restarted, because of ${option}`;
    case "policy":
      return "not restarted (it has no restart policy)";
    case "failed":
    case "instances":
      return "not restarted";
    default:
      return why satisfies never;
  }
}

/** What followed the end of a run, as a sentence. */
export function whatFollowed(decision: DecisionRecord): string {
  const { kind, why } = decision;
  if (kind !== "none") return `What followed: ${decisionText(decision)}.`;
  switch (why) {
    case undefined:
    case "stopped":
    case "finished":
    case "permanent":
      // The reason of the end says it.
      return "It was not restarted.";
    case "asleep":
      return "It sleeps until its next client comes.";
    case "exhausted":
      return `It was not restarted: ${whyNone(decision)}.`;
    default:
      return `It was ${whyNone(decision)}.`;
  }
}

/** Why an unhealthy run goes on, to follow "not restarted". */
export function whyUnhealthy({ why, option, process }: Omit<DecisionRecord, "kind">): string {
  if (why === "blocked") return " because it is blocked";
  if (why === "option") return ` because of ${option}`;
  if (why === "policy") return " because it has no restart policy";
  if (why !== "instances") return " yet";
  return process === undefined ? ": no other instance is healthy" : `: ${process} is being restarted`;
}

export type StatusMembers = Pick<ProcessRecord, "status" | "restarts" | "ready" | "healthy">;

/** Why a process is in its state, in one sentence: for a process or an instance. */
export function statusText(part: StatusMembers, cause: StatusCause): string {
  const { connectionProblem } = cause;
  return `${stateText(part, cause)}${connectionProblem === undefined ? "" : `, but ${connectionProblem}`}`;
}

function stateText({ status, restarts, ...condition }: StatusMembers, cause: StatusCause): string {
  const { end, next = { kind: "none" }, hook, waitsFor = [], skip } = cause;
  switch (status) {
    case "created":
      return "has not been started yet";
    case "waiting":
      return `waits for ${dependenciesText(waitsFor) || "what it depends on"}`;
    case "skipped":
      return skip === undefined ? "is skipped" : `is ${skipText(skip)}`;
    case "starting":
      return hook === undefined ? "is being started" : hookText(hook);
    case "running":
      return `runs${restarts === 0 ? "" : `, restarted ${restarts === 1 ? "once" : `${restarts} times`}`}${conditionText(condition, cause)}`;
    case "stopping":
      return stoppingText(cause);
    case "backoff":
      return `${lastFailure(end)}, ${decisionText(next)}`;
    case "stopped":
      return `was stopped${end === undefined ? "" : stopText(end)}`;
    case "asleep":
      return sleepText(cause.sleep);
    case "finished":
      return `finished by itself${finishText(end ?? {}) || " with code 0"}${leftNote(end?.left)}`;
    case "errored":
    case "exhausted":
      return `${lastFailure(end)}; ${whyNone(next)}`;
    case "mixed":
      return "";
    default:
      return status satisfies never;
  }
}

function sleepText({ since, on, hostname = "", port = 0 }: NonNullable<StatusCause["sleep"]> = {}): string {
  const from = since === undefined ? "" : ` since ${hostTime(Date.parse(since))}`;
  const what = on === "data" ? "the first byte of a client on" : "a connection to";
  return `sleeps${from}${on === undefined ? "" : `; ${what} ${addressText({ hostname, port })} wakes it`}`;
}

/** How a run that was stopped ended, to follow "was stopped". */
function stopText(end: EndRecord): string {
  const { signal, left } = end;
  return signal === undefined ? `; it ${howItEnded(end)}` : ` (${signal})${leftNote(left)}`;
}

function lastFailure(end: EndRecord | undefined): string {
  return end === undefined ? "failed" : failureText(end);
}

/** What is wrong with a process that runs, to follow "runs"; empty: nothing is known. */
export function troubleText(part: Pick<StatusMembers, "ready" | "healthy">, cause: StatusCause): string {
  const { connectionProblem } = cause;
  return `${conditionText(part, cause)}${connectionProblem === undefined ? "" : `, but ${connectionProblem}`}`;
}

function conditionText({ ready, healthy }: Pick<StatusMembers, "ready" | "healthy">, cause: StatusCause): string {
  const { problem, logProblem, next = { kind: "none" } } = cause;
  const log = logProblem === undefined ? "" : `; ${logProblem}`;
  if (ready === false) return `, is not ready yet${inParentheses(problem)}${log}`;
  if (healthy !== false) return log;
  return `, but is not healthy${inParentheses(problem)}, and not restarted${whyUnhealthy(next)}${log}`;
}

/** "db (ready), web (started)" */
export function dependenciesText(dependencies: NonNullable<StatusCause["waitsFor"]>): string {
  return dependencies.map(({ process, condition }) => `${process} (${condition})`).join(", ");
}

/** "skipped: it depends on api, which depends on db, which has failed permanently: exited with code 3; its 5 restarts are used up" */
export function skipText({ path, process, end, next = { kind: "none" } }: NonNullable<StatusCause["skip"]>): string {
  const instance = path.at(-1) === process ? "" : `${process} `;
  return `skipped: it depends on ${path.join(", which depends on ")}, which has failed permanently: ${instance}${lastFailure(end)}; ${whyNone(next)}`;
}

function hookText({ name, ms }: NonNullable<StatusCause["hook"]>): string {
  return `runs its hook ${name} (for ${duration(ms)})`;
}

const STOPS: Readonly<Record<NonNullable<StatusCause["stop"]>["kind"], string>> = {
  operator: "is being stopped",
  terminate: "is being stopped by its schedule",
  timeout: "exceeded its timeout and is being stopped",
  watch: "is being stopped for a changed file",
  idle: "has no client and is being stopped",
  unready: "was not ready in time and is being stopped",
  unhealthy: "failed its health checks and is being stopped",
  memory: "used too much memory and is being stopped",
  itself: "has ended; its leftover processes are being stopped",
};

function stoppingText({ stop, hook, end }: StatusCause): string {
  if (stop === undefined) return STOPS.operator;
  const { kind, phase, signal, dependents = [], again } = stop;
  const after = again === true ? "; then it starts again" : "";
  if (hook?.name === "afterStop") return `${lastFailure(end)}; ${hookText(hook)}${after}`;
  const progress = {
    spawning: hook === undefined ? "" : ", with its hook beforeStart",
    "waiting-dependents": `, when ${dependents.join(", ") || "what depends on it"} has stopped`,
    grace: ", has time to finish by itself",
    terminate: `, was sent ${signal}`,
    kill: `, was sent ${signal}`,
    cleanup: "",
    "cleanup-kill": "",
    "after-stop": "",
  } as const;
  return `${STOPS[kind]}${progress[phase]}${after}`;
}

/**
 * What each status of a record means: the only place that compares the public `status`, for all that read records. The
 * supervisor has its own, `supervisor/verdict.ts`: it reads slots, which know more, and have neither `skipped` nor
 * `mixed`.
 *
 * | status            | is up                     | comes up by itself     | its run has ended |
 * |-------------------|---------------------------|------------------------|-------------------|
 * | created           | no                        | by schedule or file    | there was none    |
 * | waiting           | no                        | with its dependencies  | yes, or none      |
 * | skipped           | no                        | if the failed one does | yes, or none      |
 * | starting          | not yet                   | yes                    | no                |
 * | running           | if it is ready and healthy | yes                   | no                |
 * | stopping          | no                        | if it starts again     | no                |
 * | backoff           | no                        | after its delay        | yes               |
 * | stopped, finished | no                        | by schedule or file    | yes               |
 * | asleep            | no                        | with its first client  | yes, or none      |
 * | errored, exhausted | no                       | by schedule or file    | yes, permanently  |
 * | mixed             | see the instances         |                        |                   |
 */
import type { ProcessRecord, Status } from "./records.ts";

type StatusPart = Pick<ProcessRecord, "status">;
type ConditionPart = Pick<ProcessRecord, "status" | "ready" | "healthy">;

/** Its policy has given up. */
const FAILED: ReadonlySet<Status> = new Set(["errored", "exhausted"]);
/** A run exists or was requested, at least of one instance. */
const WITH_RUN: ReadonlySet<Status> = new Set(["running", "starting", "stopping", "mixed"]);
/** None has a run, but one comes. */
const COMING: ReadonlySet<Status> = new Set(["backoff", "waiting"]);
/** Asked for, by its start policy or an operator, and not running. */
const MISSING: ReadonlySet<Status> = new Set(["waiting", "skipped", "starting", "backoff", "errored", "exhausted"]);

export function isRunning({ status }: StatusPart): boolean {
  return status === "running";
}

/** The process runs, is ready, and passes its health checks. */
export function isUp({ status, ready, healthy }: ConditionPart): boolean {
  return status === "running" && ready !== false && healthy !== false;
}

/** The process runs, but is not ready or not healthy. */
export function isImpaired(record: ConditionPart): boolean {
  return isRunning(record) && !isUp(record);
}

export function isStartingOrRunning({ status }: StatusPart): boolean {
  return status === "starting" || status === "running";
}

/** Its first run is on its way: requested, or about to be. */
export function isAboutToRun({ status }: StatusPart): boolean {
  return status === "created" || status === "starting";
}

/** Its run is being ended; another may follow. */
export function isStopping({ status }: StatusPart): boolean {
  return status === "stopping";
}

export function wasNeverStarted({ status }: StatusPart): boolean {
  return status === "created";
}

export function isWaiting({ status }: StatusPart): boolean {
  return status === "waiting";
}

export function isSkipped({ status }: StatusPart): boolean {
  return status === "skipped";
}

export function isInBackoff({ status }: StatusPart): boolean {
  return status === "backoff";
}

/** Its first client starts it. */
export function isAsleep({ status }: StatusPart): boolean {
  return status === "asleep";
}

export function hasFinished({ status }: StatusPart): boolean {
  return status === "finished";
}

export function isExhausted({ status }: StatusPart): boolean {
  return status === "exhausted";
}

/** A cluster or group whose members have different statuses. */
export function isMixed({ status }: StatusPart): boolean {
  return status === "mixed";
}

export function hasFailed({ status }: StatusPart): boolean {
  return FAILED.has(status);
}

/** Its latest run has failed, whether its policy restarts it or has given up. */
export function isDownByFailure(record: StatusPart): boolean {
  return hasFailed(record) || isInBackoff(record);
}

export function isMissing({ status }: StatusPart): boolean {
  return MISSING.has(status);
}

export function hasCurrentRun({ status }: StatusPart): boolean {
  return WITH_RUN.has(status);
}

/** A stop would change something. */
export function isStoppable(record: StatusPart): boolean {
  return WITH_RUN.has(record.status) || COMING.has(record.status) || isAsleep(record);
}

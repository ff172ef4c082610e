/** Adds the data of the load balancer to records, and makes its log lines. */
import { addressText } from "../../base/address-text.ts";
import { duration } from "../../base/quantity.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { hasCurrentRun, isAsleep, isInBackoff } from "../../contract/status-sets.ts";
import { statusText } from "../../contract/words.ts";
import type { BackendReport, FrontReport, FrontSpec } from "../../ipc/balancer-protocol.ts";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { error, info, type LogLine } from "../log-line.ts";

/** Where clients of a process come, and how they wake it. */
export type SleepFront = Pick<FrontSpec, "id" | "hostname" | "port" | "wake">;

/** For a cluster whose instances share a listening socket. */
export function withSharedSocket(record: ProcessRecord, { hostname, port }: Listening): ProcessRecord {
  const isOpen = record.instances?.some((instance) => instance.pid !== undefined || isInBackoff(instance)) === true;
  const reason = isOpen ? `${record.reason}; they share ${addressText({ hostname, port })}` : record.reason;
  return { ...record, reason, socket: { hostname, port } };
}

/** Adds to the record of an instance why it gets no connections. */
export function withProblem(record: ProcessRecord, problem: string | undefined): ProcessRecord {
  if (problem === undefined) return record;
  return {
    ...record,
    reason: `${record.reason}, but ${problem}`,
    cause: { ...record.cause, connectionProblem: problem },
  };
}

export function withFrontend(
  record: ProcessRecord,
  front: FrontSpec,
  { problem, waiting, rejected, full }: FrontReport,
): ProcessRecord {
  const { hostname, port, strategy } = front;
  const isCluster = record.type === "cluster";
  const isShown = isCluster ? !isAsleep(record) : hasCurrentRun(record);
  const open = isShown ? [`${isCluster ? "common port" : "its clients come on"} ${addressText(front)}`] : [];
  const place = problem === undefined ? open : [`not listening on ${addressText(front)}: ${problem}`];
  return {
    ...record,
    reason: [record.reason, ...place, ...(full === undefined ? [] : [fileLimitText(full)])].join("; "),
    balancer: { hostname, port, strategy, ...(problem === undefined ? {} : { problem }), waiting, rejected },
  };
}

export function withBackend(
  record: ProcessRecord,
  { accepting, connections, total, bytesIn, bytesOut, refused }: BackendReport,
  { port, connectionProblem }: { readonly port: number; readonly connectionProblem: string | undefined },
): ProcessRecord {
  return {
    ...withProblem(record, connectionProblem),
    backend: {
      port,
      accepting,
      connections,
      totalConnections: total,
      receivedBytes: bytesIn,
      sentBytes: bytesOut,
      refused,
    },
  };
}

/** Adds to the record of a front what it does without clients. */
export function withSleep(record: ProcessRecord, front: SleepFront, sleep: ProcessRecord["sleep"]): ProcessRecord {
  if (sleep === undefined) return record;
  const { turnedAway, busy } = sleep;
  const known = withWaker(record, front);
  const notes = [
    ...(busy === undefined ? [] : [`stays awake: ${busy}`]),
    ...(turnedAway === undefined ? [] : [turnedAwayText(turnedAway, front)]),
  ];
  return { ...known, reason: [known.reason, ...notes].join("; "), sleep };
}

export function turnedAwayText(count: number, { wake }: SleepFront): string {
  const who = count === 1 ? "a client was" : `${count} clients were`;
  return `${who} turned away: it did not come up (idle.wakeTimeout: ${duration(wake?.timeoutMs ?? 0)})`;
}

/** Adds to the record of what sleeps how a client wakes it. */
export function withWaker(record: ProcessRecord, { wake, hostname, port }: SleepFront): ProcessRecord {
  const { blocked, disabled, instances, updated } = record;
  if (!isAsleep(record) || wake === undefined) return record;
  const since =
    updated ??
    instances
      ?.map((instance) => instance.updated)
      .sort()
      .at(-1);
  const waker = blocked || disabled === true ? {} : { on: wake.on, hostname, port };
  const cause = { ...record.cause, sleep: { ...(since !== undefined && { since }), ...waker } };
  return { ...record, cause, reason: statusText(record, cause) };
}

/** The log lines for what has changed since the report before. */
export function frontendMessages(
  front: FrontSpec,
  { problem, full }: FrontReport,
  before: FrontReport | undefined,
): readonly LogLine[] {
  const at = addressText(front);
  const lines: LogLine[] = [];
  if (problem !== before?.problem)
    lines.push(
      problem === undefined
        ? info(`the load balancer listens on ${at} now`)
        : error(`Cannot listen on ${at}: ${problem}; retrying, the instances keep running`),
    );
  if (full !== before?.full)
    lines.push(full === undefined ? info("clients are no longer turned away") : error(fileLimitText(full)));
  return lines;
}

function fileLimitText(files: number): string {
  return `clients are turned away: each of the load balancer's processes may open only ${files} files; raise that where procman is started (ulimit -n, LimitNOFILE=)`;
}

/** Parts of arguments and answers that several tools have. */
import { timeOf } from "../../cli/output/format.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import {
  boolean,
  integer,
  list,
  number,
  openObject,
  optional,
  type Schema,
  string,
  time,
} from "../../core/base/schema.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { isUp } from "../../core/contract/status-sets.ts";
import { harmless } from "./untrusted.ts";

/** Longest limit of a wait; clients give up earlier. Seconds. */
const LONGEST_SECONDS = 600;

export const ID: Schema<string> = string({
  minLength: 1,
  maxLength: 80,
  description: 'Id of a process, an instance ("web-2"), a cluster or a group ("group:backend").',
});

export function timeoutSeconds(standard: number, after = "What was asked for continues after it."): Schema<number> {
  return number({
    minimum: 0,
    maximum: LONGEST_SECONDS,
    default: standard,
    description: `How long to wait. Seconds; default ${standard}. ${after}`,
  });
}

/** Budget of an answer with lines of programs. Bytes. */
export const DEFAULT_BUDGET = 16_000;

export const MAX_BYTES: Schema<number> = integer({
  minimum: 500,
  maximum: 200_000,
  default: DEFAULT_BUDGET,
  description: "Budget of the answer.",
});

/** Milliseconds since 1970. @throws {ProcmanError} `input-invalid` */
export function timeIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return timeOf(name, text, Date.now());
  } catch (cause) {
    if (!(cause instanceof ProcmanError)) throw cause;
    throw new ProcmanError("input-invalid", cause.message, { cause });
  }
}

export const PROCESS = openObject(
  {
    id: string(),
    type: string({ description: "process, worker, cluster or group." }),
    status: string(),
    up: boolean({ description: "It runs, is ready, and passes its health checks." }),
    reason: string({ description: "Why it is in this state." }),
    restarts: integer(),
    pid: optional(integer()),
    run: optional(integer({ description: "Number of its latest run." })),
    ready: optional(boolean()),
    healthy: optional(boolean()),
    blocked: optional(boolean({ description: "Nothing starts it." })),
    disabled: optional(boolean({ description: "It starts only by hand." })),
    code: optional(integer({ description: "Exit code of the last run." })),
    signal: optional(string()),
    started: optional(time()),
    exited: optional(time()),
    nextRun: optional(time({ description: "Next start by its schedule." })),
    nextRestart: optional(time({ description: "Next attempt after a failure." })),
    cpuPercent: optional(number({ description: "100 is one core." })),
    memoryBytes: optional(number()),
    memoryLimitBytes: optional(number()),
    cluster: optional(string({ description: "The cluster that it is an instance of." })),
    groups: optional(list(string())),
    waitsFor: optional(string()),
  },
  { description: "A process, a cluster, or an instance of one." },
);

const COPIED = [
  ...(["id", "type", "status", "restarts", "pid", "run", "ready", "healthy", "disabled", "code", "signal"] as const),
  ...(["started", "exited", "nextRun", "nextRestart", "cpuPercent", "memoryBytes", "memoryLimitBytes"] as const),
  ...(["cluster", "groups", "waitsFor"] as const),
];

/** The record and those of its instances, as an agent needs them. */
export function shownProcesses(record: ProcessRecord): readonly Readonly<Record<string, unknown>>[] {
  const own = {
    ...Object.fromEntries(COPIED.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]]))),
    ...(record.blocked && { blocked: true }),
    up: membersOf(record).every(isUp),
    reason: harmless(record.reason),
  };
  return [own, ...(record.instances ?? []).flatMap(shownProcesses)];
}

/** Instances instead of their cluster; processes and instances instead of their group. */
export function membersOf(record: ProcessRecord): readonly ProcessRecord[] {
  return (record.instances ?? []).length === 0 ? [record] : (record.instances ?? []).flatMap(membersOf);
}

/** A line for each process and instance. */
export function processLines(record: ProcessRecord): readonly string[] {
  const flags = [
    ...(record.blocked ? ["blocked"] : []),
    ...(record.disabled === true ? ["disabled"] : []),
    ...(record.ready === false ? ["not ready"] : []),
    ...(record.healthy === false ? ["not healthy"] : []),
    ...(record.restarts > 0 ? [`restarts: ${record.restarts}`] : []),
    ...(record.pid === undefined ? [] : [`pid ${record.pid}`]),
  ];
  const state = `${record.status}${flags.length === 0 ? "" : ` (${flags.join(", ")})`}`;
  return [`${record.id}: ${state}: ${harmless(record.reason)}`, ...(record.instances ?? []).flatMap(processLines)];
}

/** The records of processes, as API and command line show them. */
import type { ProcessSpec } from "../../config/spec.ts";
import { groupNamed, isCollective } from "../../contract/groups.ts";
import type { MissedRecord, ProcessRecord, RunRecord, TelemetryReport } from "../../contract/records.ts";
import { runUnderWay } from "../../contract/run-history.ts";
import type { RunSummary } from "../../contract/run-summary.ts";
import { isRunning as hasRunningStatus } from "../../contract/status-sets.ts";
import { dependenciesText, statusText } from "../../contract/words.ts";
import type { Sample } from "../../metrics/sampler.ts";
import type { Process } from "../../supervisor/process.ts";
import type { MissedSchedule } from "../../supervisor/snapshot.ts";
import type { ExitInfo, SlotState } from "../../supervisor/states.ts";
import {
  hasCurrentRun,
  hasLeader,
  isIdle,
  isInBackoff,
  isRunning,
  isStopping,
  runsAfterStop,
} from "../../supervisor/verdict.ts";
import { systemClock } from "../system-clock.ts";
import type { DependencyStatus } from "./dependency-status.ts";
import { causeOf, partOf } from "./status-text.ts";
import { toIsoTime } from "./wall-clock.ts";

/** What is known of a process beside its state: its usage, and the telemetry that it reports. */
export type ProcessObservation = DependencyStatus & {
  readonly usage: Pick<ProcessRecord, "cpuPercent" | "memoryBytes" | "residentBytes">;
  /** Pids of the leaders of the runs whose usage it is. */
  readonly sampled: readonly number[];
  readonly reported: Pick<ProcessRecord, "telemetry">;
  /** The last problem found with its run. */
  readonly trouble?: string | undefined;
  /** Why its log files can't be written now. */
  readonly logProblem?: string | undefined;
};

export function observationOf(
  sample: Sample | undefined,
  telemetry: TelemetryReport | undefined,
): Pick<ProcessObservation, "usage" | "sampled" | "reported"> {
  return {
    sampled: sample?.leaders ?? [],
    usage: {
      ...(sample?.cpuPercent === undefined ? {} : { cpuPercent: Math.round(sample.cpuPercent * 10) / 10 }),
      ...(sample === undefined ? {} : { memoryBytes: sample.memoryBytes }),
      ...(sample?.residentBytes === undefined ? {} : { residentBytes: sample.residentBytes }),
    },
    reported: telemetry === undefined ? {} : { telemetry },
  };
}

/** A record and the parts it was made of. */
type RecordWithParts = {
  readonly states: readonly SlotState[];
  readonly parts: RecordParts;
  readonly record: ProcessRecord;
};

type RecordParts = readonly [
  blocked: boolean,
  disabled: boolean,
  nextRun: number | undefined,
  nextTerminate: number | undefined,
  missed: MissedSchedule | undefined,
  ProcessSpec,
  ProcessObservation,
];

const cachedRecords = new WeakMap<Process, RecordWithParts>();

/** The same record as before as long as nothing has changed, so frequent reads are cheap. */
export function recordOf(process: Process, spec: ProcessSpec, observation: ProcessObservation): ProcessRecord {
  const { states } = process;
  const { isBlocked, isDisabled, missed } = process;
  const parts: RecordParts = [
    isBlocked,
    isDisabled,
    process.next("start"),
    process.next("terminate"),
    missed,
    spec,
    observation,
  ];
  const before = cachedRecords.get(process);
  const isSame = before !== undefined && sameItems(states, before.states) && sameItems(parts, before.parts);
  if (isSame && !states.some(hasTimeInText)) return before.record;
  const record = newRecord(process, states, parts);
  cachedRecords.set(process, { states, parts, record });
  return record;
}

/** The text has the remaining time of a back-off, or the present time of a hook. */
function hasTimeInText(state: SlotState): boolean {
  return isInBackoff(state) || "hookSince" in state || runsAfterStop(state);
}

function sameItems(items: readonly unknown[], before: readonly unknown[]): boolean {
  return items.length === before.length && items.every((item, index) => item === before[index]);
}

function newRecord(process: Process, states: readonly SlotState[], parts: RecordParts): ProcessRecord {
  const [blocked, disabled, , , , spec, observation] = parts;
  const state = representativeState(states);
  const ending = endingOf(state);
  const { usage, sampled, reported, waitsFor = [], skip } = observation;
  const part = partOf(state, observation);
  const cause = causeOf(state, { ...observation, policy: spec.policy, blocked }, systemClock.now());
  return {
    id: process.id,
    type: spec.command.kind === "worker" ? "worker" : "process",
    ...part,
    blocked,
    ...(disabled && { disabled }),
    ...pidOf(state),
    ...(state.run === 0 ? {} : { run: state.run }),
    ...runsOf(states, spec),
    ...(ending?.kind === "exited" && ending.code !== null ? { code: ending.code } : {}),
    ...(ending?.kind === "exited" && ending.signal !== null ? { signal: ending.signal } : {}),
    ...timesOf(state),
    ...schedulesOf(parts),
    reason: statusText(part, cause),
    cause,
    ...(hasLeader(state) && sampled.includes(state.pid) ? usage : {}),
    ...limitsOf(spec),
    ...reported,
    ...(spec.dependsOn === undefined
      ? {}
      : { dependsOn: spec.dependsOn.map(({ id, condition }) => ({ process: id, condition })) }),
    ...(waitsFor.length > 0 && { waitsFor: dependenciesText(waitsFor) }),
    ...(skip && { skippedBy: skip.path }),
    ...definedIn(spec),
  };
}

type DefinedMembers = Pick<ProcessRecord, "groups" | "task" | "input" | "terminal" | "instance" | "cluster">;

function definedIn({ groups, task, stdin, tty, cluster }: ProcessSpec): DefinedMembers {
  return {
    ...(groups && { groups }),
    ...(task && { task }),
    ...((stdin === true || tty === true) && { input: true }),
    ...(tty && { terminal: true }),
    ...(cluster && { instance: cluster.index + 1, cluster: cluster.id }),
  };
}

/** `memoryMax` is watched too, as there may be no cgroup to enforce it. */
export function memoryLimitOf({
  memoryLimit,
  memoryMax,
}: Pick<ProcessSpec, "memoryLimit" | "memoryMax">): number | undefined {
  return memoryLimit ?? memoryMax;
}

function limitsOf(spec: ProcessSpec): Pick<ProcessRecord, "cpuLimitPercent" | "memoryLimitBytes"> {
  const memory = memoryLimitOf(spec);
  return {
    ...(spec.cpuQuota === undefined ? {} : { cpuLimitPercent: spec.cpuQuota }),
    ...(memory === undefined ? {} : { memoryLimitBytes: memory }),
  };
}

type ScheduleMembers = Partial<Pick<ProcessRecord, "nextRun" | "nextTerminate" | "timeZone" | "missed">>;

function schedulesOf([, , nextRun, nextTerminate, missed, { timeZone }]: RecordParts): ScheduleMembers {
  return {
    ...(nextRun === undefined ? {} : { nextRun: new Date(nextRun).toISOString() }),
    ...(nextTerminate === undefined ? {} : { nextTerminate: new Date(nextTerminate).toISOString() }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(missed === undefined ? {} : { missed: missedOf(missed) }),
  };
}

function missedOf({ times, first, last, isMadeUpFor }: MissedSchedule): MissedRecord {
  return { times, first: new Date(first).toISOString(), last: new Date(last).toISOString(), madeUpFor: isMadeUpFor };
}

/** Replaces the instances of each cluster by a record of the cluster that contains them. */
export function withClusters(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
  const clusters = groupsOf(records);
  return [...clusters].map(([id, members]) =>
    members[0]?.cluster === undefined ? (members[0] as ProcessRecord) : clusterOf(id, members),
  );
}

/** The record of a cluster, a group or `all`. */
export function clusterOf(id: string, instances: readonly ProcessRecord[]): ProcessRecord {
  const group = groupNamed(id);
  const [first, ...others] = instances.map(({ status }) => status);
  const status = first !== undefined && others.every((other) => other === first) ? first : "mixed";
  const running = instances.filter(hasRunningStatus);
  const ready = running.filter((instance) => instance.ready === true).length;
  const notReady = ready === running.length ? "" : `, ${ready === 0 ? "none" : ready} of them ready`;
  return {
    id,
    type: group === undefined ? "cluster" : "group",
    status,
    blocked: instances.every(({ blocked }) => blocked),
    ...(instances.every(({ disabled }) => disabled) && { disabled: true }),
    restarts: instances.reduce((sum, { restarts }) => sum + restarts, 0),
    ...(running.length === 0 ? {} : { ready: ready > 0 }),
    ...sumOf(instances, "cpuPercent"),
    ...sumOf(instances, "memoryBytes"),
    ...sumOf(instances, "residentBytes"),
    ...limitOfAll(instances, "cpuLimitPercent"),
    ...limitOfAll(instances, "memoryLimitBytes"),
    reason: `${running.length} of ${instances.length} ${isCollective(id) ? "processes" : "instances"} are running${notReady}`,
    ...(group === undefined ? groupsOfCluster(id, instances) : {}),
    instances,
  };
}

function groupsOfCluster(id: string, [first]: readonly ProcessRecord[]): Pick<ProcessRecord, "groups"> {
  return first?.groups === undefined || first.cluster !== id ? {} : { groups: first.groups };
}

function sumOf(
  instances: readonly ProcessRecord[],
  member: "cpuPercent" | "memoryBytes" | "residentBytes" | "cpuLimitPercent" | "memoryLimitBytes",
): Partial<Pick<ProcessRecord, typeof member>> {
  const values = instances.flatMap((instance) => instance[member] ?? []);
  return values.length === 0 ? {} : { [member]: values.reduce((sum, value) => sum + value, 0) };
}

/** Absent if any of them has none. */
function limitOfAll(
  instances: readonly ProcessRecord[],
  member: "cpuLimitPercent" | "memoryLimitBytes",
): Partial<Pick<ProcessRecord, typeof member>> {
  return instances.some((instance) => instance[member] === undefined) ? {} : sumOf(instances, member);
}

/** The state that represents a process with overlapping runs: of the latest run that is not over, else of the latest slot that waits, else of the latest run. */
export function representativeState(states: readonly SlotState[]): SlotState {
  const rank = (state: SlotState): number => (hasCurrentRun(state) ? 2 : isIdle(state) ? 0 : 1);
  return states.reduce((best, state) => ((rank(state) - rank(best) || state.run - best.run) > 0 ? state : best));
}

function runsOf(states: readonly SlotState[], { overrun }: ProcessSpec): { readonly runs?: readonly RunRecord[] } {
  const present = states.filter(hasCurrentRun);
  if (present.length === 0 || (!overrun && present.length === 1)) return {};
  return {
    runs: present
      .sort((one, other) => one.run - other.run)
      .map((state) => ({ run: state.run, ...pidOf(state), ...startOf(state) })),
  };
}

/** The runs of a process that are not over and have begun. */
export function runsUnderWay(process: Process): readonly RunSummary[] {
  const now = Date.now();
  return process.runs.flatMap(({ slot, run, state }) => {
    const { started } = startOf(state);
    const place = slot === process.id ? {} : { slot };
    return started === undefined
      ? []
      : [runUnderWay({ process: process.id, ...place, run, ...pidOf(state), started }, now)];
  });
}

function pidOf(state: SlotState): { readonly pid?: number } {
  return hasLeader(state) ? { pid: state.pid } : {};
}

function startOf(state: SlotState): { readonly started?: string } {
  if (isRunning(state)) return { started: toIsoTime(state.since) };
  return isStopping(state) && "started" in state ? { started: toIsoTime(state.started) } : {};
}

function endingOf(state: SlotState): ExitInfo | undefined {
  if ("ending" in state) return state.ending;
  return isIdle(state) && "ending" in state.outcome ? state.outcome.ending : undefined;
}

/** `updated`: when it entered this state. */
function timesOf(state: SlotState): Pick<ProcessRecord, "started" | "exited" | "updated" | "nextRestart"> {
  if (isRunning(state) || (isStopping(state) && "started" in state))
    return { ...startOf(state), updated: toIsoTime(state.since) };
  const at = endingOf(state)?.at;
  const since = isIdle(state) && state.outcome.kind === "asleep" ? state.outcome.since : at;
  return {
    ...(at === undefined ? {} : { exited: toIsoTime(at) }),
    ...(since === undefined ? {} : { updated: toIsoTime(since) }),
    ...(isInBackoff(state) ? { nextRestart: toIsoTime(state.until) } : {}),
  };
}

function groupsOf(records: readonly ProcessRecord[]): ReadonlyMap<string, readonly ProcessRecord[]> {
  const groups = new Map<string, ProcessRecord[]>();
  for (const record of records) {
    const group = groups.get(record.cluster ?? record.id);
    if (group === undefined) groups.set(record.cluster ?? record.id, [record]);
    else group.push(record);
  }
  return groups;
}

/** Lists of processes: changes by events, and what belongs together. */
import { age } from "../../../core/base/quantity.ts";
import type { ProcessRecord, Status } from "../../../core/contract/records.ts";
import { isImpaired, isMixed } from "../../../core/contract/status-sets.ts";

type ChangedRecords = { readonly records: readonly ProcessRecord[]; readonly isComplete: boolean };

/** The list with these records in place of those with the same ids. `isComplete`: nothing else has changed by that. */
export function withRecord(
  records: readonly ProcessRecord[],
  changed: ReadonlyMap<string, ProcessRecord>,
): ChangedRecords {
  const rest = new Set(changed.keys());
  let isComplete = true;
  const found = (record: ProcessRecord): ProcessRecord => {
    rest.delete(record.id);
    return changed.get(record.id) ?? record;
  };
  const result = records.map((record) => {
    const { instances } = record;
    if (instances === undefined) return found(record);
    if (!instances.some(({ id }) => changed.has(id))) return record;
    isComplete = false;
    return { ...record, instances: instances.map(found) };
  });
  return { records: result, isComplete: isComplete && rest.size === 0 };
}

/** Processes and instances; clusters are left out. */
export function leavesOf(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
  return records.flatMap((record) => record.instances ?? [record]);
}

/** Processes, clusters and instances. */
export function allOf(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
  return records.flatMap((record) => [record, ...(record.instances ?? [])]);
}

/** `tone`: how much attention it needs. */
export type Tone = "good" | "busy" | "bad" | "quiet";

const TONES: Readonly<Record<Status, Tone>> = {
  running: "good",
  starting: "busy",
  waiting: "busy",
  stopping: "busy",
  backoff: "bad",
  skipped: "bad",
  errored: "bad",
  exhausted: "bad",
  mixed: "busy",
  created: "quiet",
  stopped: "quiet",
  asleep: "quiet",
  finished: "quiet",
};

/** A process that runs is good only when it is ready and healthy; a mixed cluster is as bad as its worst instance. */
export function toneOf(record: ProcessRecord): Tone {
  const { status, healthy, instances = [] } = record;
  if (isMixed(record)) return instances.some((instance) => toneOf(instance) === "bad") ? "bad" : "busy";
  if (!isImpaired(record)) return TONES[status];
  return healthy === false ? "bad" : "busy";
}

/** As `toneOf`, but a cluster is bad as soon as one of its instances is, whatever its own status says. */
export function worstToneOf(record: ProcessRecord): Tone {
  return record.instances?.some((instance) => toneOf(instance) === "bad") ? "bad" : toneOf(record);
}

/** Where it listens, as far as procman opens the port itself. */
export function portOf({ balancer, socket, backend }: ProcessRecord): number | undefined {
  return (balancer ?? socket ?? backend)?.port;
}

/** CPU in percent of a core. @example cpuText(1.234) // "1.2 %" */
export function cpuText(cpuPercent: number | undefined): string {
  return cpuPercent === undefined ? "" : `${cpuPercent.toFixed(1)} %`;
}

/** The status in words, with remarks. */
export function statusText({ status, ready, healthy, blocked, disabled, runs = [] }: ProcessRecord): string {
  return [
    status,
    ...(runs.length > 1 ? [`${runs.length} runs`] : []),
    ...(ready === false ? ["not ready"] : []),
    ...(healthy === false ? ["unhealthy"] : []),
    ...(blocked ? ["blocked"] : []),
    ...(disabled ? ["disabled"] : []),
  ].join(", ");
}

/** Processes and clusters beside these that depend on one of them, directly. */
export function dependentsOf(ids: ReadonlySet<string>, records: readonly ProcessRecord[]): readonly ProcessRecord[] {
  const waits = ({ dependsOn = [] }: ProcessRecord): boolean => dependsOn.some(({ process }) => ids.has(process));
  return records.filter((record) => !ids.has(record.id) && leavesOf([record]).some(waits));
}

/** The reason as a row has room for it: of what sleeps, for how long. */
export function reasonIn({ reason, cause }: Pick<ProcessRecord, "reason" | "cause">, now: number): string {
  const since = cause?.sleep?.since;
  return since === undefined
    ? reason
    : reason.replace(/^sleeps since \S+?(?=;|$)/, `for ${age(now - Date.parse(since))}`);
}

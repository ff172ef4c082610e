/** Whether processes are up: for the exit code of `status`, and for `GET /health?process=ID`. */
import { groupNamed, membersOfGroup } from "./groups.ts";
import type { ProcessRecord } from "./records.ts";
import { isAsleep, isMissing, isRunning, isUp } from "./status-sets.ts";

/** The processes themselves, and instances instead of their clusters. */
function membersOf(record: ProcessRecord): readonly ProcessRecord[] {
  return record.instances ?? [record];
}

/** Whether it sleeps, and serves its next client. */
function isReachable(record: ProcessRecord): boolean {
  return isAsleep(record) && !record.blocked && record.disabled !== true;
}

type HealthQuestion = {
  /** They were named, so each must run; else only what was asked for, and hasn't finished or been stopped. */
  readonly named: boolean;
  /** They must also be ready and healthy. */
  readonly checks: boolean;
};

/** Whether all of these run; of a cluster each instance. */
export function allRun(records: readonly ProcessRecord[], { named, checks }: HealthQuestion): boolean {
  return records.flatMap(membersOf).every((record) => {
    if (isRunning(record)) return !checks || isUp(record);
    if (isReachable(record)) return true;
    return !named && !isMissing(record);
  });
}

/** Whether the process, or one instance of the cluster, is up; of `all` or a group, each that was asked for. */
export function serves(records: readonly ProcessRecord[], id: string): boolean {
  const hasOneUp = (record: ProcessRecord): boolean =>
    membersOf(record).some((member) => isUp(member) || isReachable(member));
  const isServed = (record: ProcessRecord): boolean =>
    hasOneUp(record) || allRun([record], { named: false, checks: true });
  if (id === "all") return records.every(isServed);
  const group = groupNamed(id);
  if (group !== undefined) {
    const members = membersOfGroup(records, group);
    return members.length > 0 && members.every(isServed);
  }
  const found = records.flatMap((record) => [record, ...(record.instances ?? [])]).find((record) => record.id === id);
  return found !== undefined && hasOneUp(found);
}

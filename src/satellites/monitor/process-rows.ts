/** The rows of the table: which processes are shown, in which order. */
import type { ProcessRecord, Status } from "../../core/contract/records.ts";
import { isDownByFailure, isImpaired, isSkipped } from "../../core/contract/status-sets.ts";

export const SORTS = ["trouble", "file", "state", "cpu", "memory", "restarts", "id"] as const;

/** `trouble`: what is in trouble first, the others as the configuration has them (`file`). */
export type SortOrder = (typeof SORTS)[number];

export type RowChoice = { readonly sort: SortOrder; readonly isReversed: boolean; readonly filter: string };

/** What is wrong comes first. */
const BY_STATE = Object.keys({
  errored: 0,
  exhausted: 0,
  backoff: 0,
  skipped: 0,
  mixed: 0,
  waiting: 0,
  starting: 0,
  stopping: 0,
  running: 0,
  asleep: 0,
  stopped: 0,
  created: 0,
  finished: 0,
} satisfies Record<Status, number>) as readonly Status[];

const COMPARE: Readonly<Record<SortOrder, (one: ProcessRecord, other: ProcessRecord) => number>> = {
  trouble: (one, other) => Number(isInTrouble(other)) - Number(isInTrouble(one)),
  file: () => 0,
  state: (one, other) => urgency(one) - urgency(other),
  cpu: (one, other) => (other.cpuPercent ?? -1) - (one.cpuPercent ?? -1),
  memory: (one, other) => (other.memoryBytes ?? -1) - (one.memoryBytes ?? -1),
  restarts: (one, other) => other.restarts - one.restarts,
  id: (one, other) => (one.id < other.id ? -1 : 1),
};

/** Processes and clusters; instances stand below their cluster, in the order of their numbers unless they are sorted. */
export function rowsOf(
  records: readonly ProcessRecord[],
  { sort, isReversed, filter }: RowChoice,
): readonly ProcessRecord[] {
  const compare = COMPARE[sort];
  const ordered = (all: readonly ProcessRecord[]): readonly ProcessRecord[] =>
    sort === "file" && !isReversed
      ? all
      : all.toSorted((one, other) => (isReversed ? compare(other, one) : compare(one, other)));
  const wanted = filter.toLowerCase();
  const rows = ordered(sort === "file" && isReversed ? records.toReversed() : records).flatMap((record) => {
    const { instances = [] } = record;
    const members = matches(record, wanted) ? instances : instances.filter((instance) => matches(instance, wanted));
    return members.length > 0 || matches(record, wanted)
      ? [record, ...(sort === "file" ? members : ordered(members))]
      : [];
  });
  return rows;
}

/** A part of its id, its state or a group. */
function matches(
  { id, status, groups = [], ready, healthy, blocked, disabled }: ProcessRecord,
  wanted: string,
): boolean {
  if (wanted === "") return true;
  const marks = [
    ready === false ? "not ready" : "",
    healthy === false ? "unhealthy" : "",
    blocked ? "blocked" : "",
    disabled ? "disabled" : "",
  ];
  return [id, status, ...groups.map((group) => `group:${group}`), ...marks].some((text) => text.includes(wanted));
}

/** Whether the process, or any instance of the cluster, has failed, cannot start, or is not healthy. */
function isInTrouble(record: ProcessRecord): boolean {
  const { healthy, instances = [] } = record;
  return isDownByFailure(record) || isSkipped(record) || healthy === false || instances.some(isInTrouble);
}

function urgency(record: ProcessRecord): number {
  return BY_STATE.indexOf(isImpaired(record) ? "waiting" : record.status);
}

/** Processes by their state; of a cluster, its instances. */
export function countsOf(records: readonly ProcessRecord[]): ReadonlyMap<Status, number> {
  const counts = new Map<Status, number>();
  for (const { status } of records.flatMap((record) => record.instances ?? [record]))
    counts.set(status, (counts.get(status) ?? 0) + 1);
  return new Map([...counts].sort(([one], [other]) => BY_STATE.indexOf(one) - BY_STATE.indexOf(other)));
}

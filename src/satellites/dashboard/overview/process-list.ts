/** Which processes the overview lists, in which order. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { leavesOf, type Tone, toneOf } from "../model/record-lists.ts";

export const SORTS = ["attention", "id", "status", "up", "restarts", "cpu", "memory", "next"] as const;

export type SortKey = (typeof SORTS)[number];

export type ListOrder = { readonly key: SortKey; readonly isDescending: boolean };

export type ListFilter = {
  /** Parts of id, status, group or reason; all must be there. */
  readonly text: string;
  readonly tone: Tone | undefined;
};

/** An instance is `isNested` below its cluster. */
export type ListedProcess = { readonly record: ProcessRecord; readonly isNested: boolean };

const ATTENTION: Readonly<Record<Tone, number>> = { bad: 0, busy: 1, good: 2, quiet: 2 };

type SortValue = number | string;

const VALUES: Readonly<Record<SortKey, (record: ProcessRecord, index: number) => SortValue>> = {
  attention: (record, index) => ATTENTION[toneOf(record)] * 1e6 + index,
  id: ({ id }) => id,
  status: ({ status }) => status,
  up: ({ pid, started }) =>
    pid === undefined || started === undefined ? Number.POSITIVE_INFINITY : -Date.parse(started),
  restarts: ({ restarts }) => restarts,
  cpu: ({ cpuPercent = -1 }) => cpuPercent,
  memory: ({ memoryBytes = -1 }) => memoryBytes,
  next: ({ nextRun }) => (nextRun === undefined ? Number.POSITIVE_INFINITY : Date.parse(nextRun)),
};

/** The order in which a column is sorted first: numbers from the largest on. */
export function firstOrder(key: SortKey): ListOrder {
  return { key, isDescending: ["restarts", "cpu", "memory"].includes(key) };
}

/** The rows: what passes the filter, sorted, with the instances of open clusters. */
export function listed(
  records: readonly ProcessRecord[],
  {
    filter,
    order,
    open,
  }: { readonly filter: ListFilter; readonly order: ListOrder; readonly open: ReadonlySet<string> },
): readonly ListedProcess[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (record: ProcessRecord): boolean =>
    (filter.tone === undefined || toneOf(record) === filter.tone) &&
    words.every((word) => textOf(record).includes(word));
  const shown = records.flatMap((record, index) => {
    const instances = (record.instances ?? []).filter(isWanted);
    return isWanted(record) || instances.length > 0
      ? [{ record, instances, value: VALUES[order.key](record, index) }]
      : [];
  });
  const sign = order.isDescending ? -1 : 1;
  shown.sort((one, other) => sign * compared(one.value, other.value) || compared(one.record.id, other.record.id));
  return shown.flatMap(({ record, instances }) => [
    { record, isNested: false },
    ...(open.has(record.id) ? instances.map((each) => ({ record: each, isNested: true })) : []),
  ]);
}

/** Numbers of processes and instances by tone. */
export function countsOf(records: readonly ProcessRecord[]): Readonly<Record<Tone, number>> {
  const counts = { good: 0, busy: 0, bad: 0, quiet: 0 };
  for (const record of leavesOf(records)) counts[toneOf(record)] += 1;
  return counts;
}

function textOf({ id, status, reason, groups = [] }: ProcessRecord): string {
  return `${id} ${status} ${groups.join(" ")} ${reason}`.toLowerCase();
}

function compared(one: SortValue, other: SortValue): number {
  if (typeof one === "string" && typeof other === "string") return one.localeCompare(other, "en", { numeric: true });
  return one < other ? -1 : one > other ? 1 : 0;
}

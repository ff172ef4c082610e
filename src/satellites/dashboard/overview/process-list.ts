/** Which processes the overview lists, in which order and sections. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { leavesOf, type Tone, worstToneOf } from "../model/record-lists.ts";

export const SORTS = ["attention", "id", "status", "up", "restarts", "cpu", "memory", "next"] as const;

export type SortKey = (typeof SORTS)[number];

export type ListOrder = { readonly key: SortKey; readonly isDescending: boolean };

export type ListFilter = {
  /** Parts of id, status, group or reason; all must be there. */
  readonly text: string;
  readonly tone: Tone | undefined;
};

/** An instance is `isNested` below its cluster. `key`: unique in the list; a process is in each of its groups. */
export type ListedProcess = {
  readonly kind: "process";
  readonly key: string;
  readonly record: ProcessRecord;
  readonly isNested: boolean;
  readonly isPinned: boolean;
};

/** The head of a section. */
export type ListedGroup = {
  readonly kind: "group";
  readonly key: string;
  /** undefined: of the processes without a group. */
  readonly name: string | undefined;
  readonly members: readonly ProcessRecord[];
  readonly isOpen: boolean;
};

export type ListedRow = ListedProcess | ListedGroup;

export type TableView = {
  readonly filter: ListFilter;
  readonly order: ListOrder;
  /** Clusters whose instances are shown. */
  readonly open: ReadonlySet<string>;
  readonly isGrouped: boolean;
  /** Keys of sections that are closed. */
  readonly closed: ReadonlySet<string>;
};

/** `pinned`: what needs attention, above everything else; it isn't in `rows` again. */
export type ListedRows = { readonly pinned: readonly ListedProcess[]; readonly rows: readonly ListedRow[] };

/** More are at the top of the other rows. */
const MOST_PINNED = 50;
const ATTENTION: Readonly<Record<Tone, number>> = { bad: 0, busy: 1, good: 2, quiet: 2 };

type SortValue = number | string;

const VALUES: Readonly<Record<SortKey, (record: ProcessRecord, index: number) => SortValue>> = {
  attention: (record, index) => ATTENTION[worstToneOf(record)] * 1e6 + index,
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

/** A process that passes the filter, with those of its instances that do. */
type MatchedProcess = { readonly record: ProcessRecord; readonly instances: readonly ProcessRecord[] };

/** The rows: what passes the filter, sorted, with the instances of open clusters. */
export function listed(records: readonly ProcessRecord[], view: TableView): ListedRows {
  const found = foundIn(records, view);
  const isPinning = view.order.key === "attention" && !view.order.isDescending;
  const bad = isPinning ? found.filter(({ record }) => worstToneOf(record) === "bad").slice(0, MOST_PINNED) : [];
  const rest = found.slice(bad.length);
  const rows =
    view.isGrouped && records.some(({ groups = [] }) => groups.length > 0)
      ? sectionsOf(found, new Set(bad), view)
      : rest.flatMap((each) => rowsOf(each, view.open, ""));
  return { pinned: bad.flatMap((each) => pinnedRows(each, view.open)), rows };
}

function foundIn(records: readonly ProcessRecord[], { filter, order }: TableView): readonly MatchedProcess[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const hasWords = (record: ProcessRecord): boolean => words.every((word) => textOf(record).includes(word));
  const found = records.flatMap((record, index) => {
    if (filter.tone !== undefined && worstToneOf(record) !== filter.tone) return [];
    const instances = (record.instances ?? []).filter(hasWords);
    return hasWords(record) || instances.length > 0
      ? [{ record, instances, value: VALUES[order.key](record, index) }]
      : [];
  });
  const sign = order.isDescending ? -1 : 1;
  return found.sort(
    (one, other) => sign * compared(one.value, other.value) || compared(one.record.id, other.record.id),
  );
}

/** A process in trouble, or a cluster with its instances in trouble (all, if it is open). */
function pinnedRows({ record, instances }: MatchedProcess, open: ReadonlySet<string>): readonly ListedProcess[] {
  const shown = open.has(record.id) ? instances : instances.filter((instance) => worstToneOf(instance) === "bad");
  return rowsOf({ record, instances: shown }, new Set([record.id]), PINNED);
}

/** No group has this name. */
const PINNED = "\n";

function rowsOf(
  { record, instances }: MatchedProcess,
  open: ReadonlySet<string>,
  section: string,
): readonly ListedProcess[] {
  const row = (each: ProcessRecord, isNested: boolean): ListedProcess => ({
    kind: "process",
    key: `${section} ${each.id}`,
    record: each,
    isNested,
    isPinned: section === PINNED,
  });
  return [row(record, false), ...(open.has(record.id) ? instances.map((each) => row(each, true)) : [])];
}

/** By name; processes without a group are last. A head counts those that are pinned, too. */
function sectionsOf(
  found: readonly MatchedProcess[],
  pinned: ReadonlySet<MatchedProcess>,
  { open, closed }: TableView,
): readonly ListedRow[] {
  const sections = new Map<string, MatchedProcess[]>();
  for (const each of found)
    for (const name of each.record.groups?.length ? each.record.groups : [""]) {
      const members = sections.get(name) ?? [];
      members.push(each);
      sections.set(name, members);
    }
  const names = [...sections.keys()].filter((name) => name !== "").sort((one, other) => compared(one, other));
  return [...names, ...(sections.has("") ? [""] : [])].flatMap((name): readonly ListedRow[] => {
    const members = sections.get(name) ?? [];
    const isOpen = !closed.has(name);
    const head: ListedGroup = {
      kind: "group",
      key: `group:${name}`,
      name: name === "" ? undefined : name,
      members: members.map(({ record }) => record),
      isOpen,
    };
    const shown = isOpen ? members.filter((each) => !pinned.has(each)) : [];
    return [head, ...shown.flatMap((each) => rowsOf(each, open, name))];
  });
}

/** Numbers of processes by tone; a cluster counts once, as its row. */
export function countsOf(records: readonly ProcessRecord[]): Readonly<Record<Tone, number>> {
  const counts = { good: 0, busy: 0, bad: 0, quiet: 0 };
  for (const record of records) counts[worstToneOf(record)] += 1;
  return counts;
}

export type UsageSum = { readonly cpuPercent: number; readonly memoryBytes: number };

/** What all of them use together. */
export function usageOf(records: readonly ProcessRecord[]): UsageSum {
  let [cpuSum, memorySum] = [0, 0];
  for (const { cpuPercent = 0, memoryBytes = 0 } of leavesOf(records)) {
    cpuSum += cpuPercent;
    memorySum += memoryBytes;
  }
  return { cpuPercent: cpuSum, memoryBytes: memorySum };
}

function textOf({ id, status, reason, groups = [] }: ProcessRecord): string {
  return `${id} ${status} ${groups.join(" ")} ${reason}`.toLowerCase();
}

function compared(one: SortValue, other: SortValue): number {
  if (typeof one === "string" && typeof other === "string") return one.localeCompare(other, "en", { numeric: true });
  return one < other ? -1 : one > other ? 1 : 0;
}

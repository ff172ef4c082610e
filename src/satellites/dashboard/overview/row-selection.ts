/** Which processes of the overview are selected, and what an action on all of them concerns. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { actionsFor } from "../model/action-words.ts";

/** `anchor`: the row from which a range is selected. */
export type RowSelection = { readonly ids: ReadonlySet<string>; readonly anchor: string | undefined };

export const NONE: RowSelection = { ids: new Set(), anchor: undefined };

/** Selects a row or takes it out again; with Shift, it selects all from the last one to this one. */
export type OnSelect = (id: string, isRange: boolean) => void;

export const COMMON_ACTIONS = ["start", "stop", "restart"] as const;

export type CommonAction = (typeof COMMON_ACTIONS)[number];

export function withToggled({ ids, anchor }: RowSelection, id: string): RowSelection {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: next.has(id) ? id : anchor };
}

/** `order`: ids of the rows, as they are listed. */
export function withRange({ ids, anchor = "" }: RowSelection, id: string, order: readonly string[]): RowSelection {
  const to = order.indexOf(id);
  const from = order.includes(anchor) ? order.indexOf(anchor) : to;
  const between = order.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ids: new Set([...ids, ...between]), anchor: id };
}

/** What is selected of what there is; an instance is part of its cluster, if that is selected. */
export function selectedOf(records: readonly ProcessRecord[], { ids }: RowSelection): readonly ProcessRecord[] {
  if (ids.size === 0) return [];
  return records.flatMap((record) =>
    ids.has(record.id) ? [record] : (record.instances ?? []).filter((instance) => ids.has(instance.id)),
  );
}

/** The selected processes for which the action makes sense now. */
export function targetsOf(action: CommonAction, selected: readonly ProcessRecord[]): readonly ProcessRecord[] {
  return selected.filter((record) => isTarget(action, record));
}

export function isTarget(action: CommonAction, record: ProcessRecord): boolean {
  return actionsFor(record).includes(action);
}

/** The selection of the overview, with what changes it. */
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { useRights } from "../parts/app-context.ts";
import type { ListedRows } from "./process-list.ts";
import { NONE, type OnSelect, type RowSelection, withRange, withToggled } from "./row-selection.ts";

export type Selecting = {
  readonly selection: RowSelection;
  /** undefined: the user may not act on processes. */
  readonly onSelect: OnSelect | undefined;
  readonly onAll: () => void;
  readonly onNone: () => void;
  /** Number of processes that are listed. */
  readonly total: number;
};

/** All are those that are listed, without the instances of clusters. */
export function useSelection(rows: ListedRows): Selecting {
  const { mayControl } = useRights();
  const [selection, setSelection] = useState(NONE);
  const { ids, all } = useMemo(() => listedIds(rows), [rows]);
  // Callbacks stay the same, so that no row is drawn again for them.
  const order = useRef(ids);
  order.current = ids;
  const onSelect = useCallback<OnSelect>(
    (id, isRange) =>
      setSelection((before) => (isRange ? withRange(before, id, order.current) : withToggled(before, id))),
    [],
  );
  const onNone = useCallback(() => setSelection(NONE), []);
  const onAll = (): void => setSelection({ ids: all, anchor: undefined });
  return { selection, onSelect: mayControl ? onSelect : undefined, onNone, onAll, total: all.size };
}

function listedIds({ pinned, rows }: ListedRows): {
  readonly ids: readonly string[];
  readonly all: ReadonlySet<string>;
} {
  const processes = [...pinned, ...rows].flatMap((row) => (row.kind === "process" ? [row] : []));
  return {
    ids: processes.map(({ record }) => record.id),
    all: new Set(processes.flatMap(({ isNested, record }) => (isNested ? [] : [record.id]))),
  };
}

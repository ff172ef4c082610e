/** The overview: numbers of processes by state, what they use, and all processes; what needs attention is on top. */
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { useApp, useObserved } from "../parts/app-context.ts";
import { FilterBar } from "./filter-bar.tsx";
import { type ListFilter, type ListOrder, listed } from "./process-list.ts";
import { ProcessTable } from "./process-table.tsx";
import { selectedOf } from "./row-selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { type Selecting, useSelection } from "./use-selection.ts";
import { columnsFor, type ShownColumns, storedOptions, storeOptions, type ViewOptions } from "./view-options.ts";

const ALL: ListFilter = { text: "", tone: undefined };
/** Up to this width of the window, processes are cards. Pixels. */
const CARDS = 900;
/** Width of the page at most, and what is left and right of the table, as in the style sheet. Pixels. */
const WIDEST = 1_680;
const AROUND = 42;

export function OverviewPage(): JSX.Element {
  const { model } = useApp();
  const records = useObserved(model.processes);
  const [filter, setFilter] = useState(ALL);
  const [order, setOrder] = useState<ListOrder>({ key: "attention", isDescending: false });
  const [open, toggle] = useToggled();
  const [closed, toggleGroup] = useToggled();
  const [options, setOptions] = useOptions();
  const { isGrouped } = options;
  const columns = useColumns(options);
  const rows = useMemo(
    () => listed(records ?? [], { filter, order, open, isGrouped, closed }),
    [records, filter, order, open, isGrouped, closed],
  );
  const selecting = useSelection(rows);
  if (records === undefined) return <p class="empty">Waiting for procman …</p>;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <FilterBar
        records={records}
        filter={filter}
        onFilter={setFilter}
        options={options}
        onOptions={setOptions}
        order={order}
        onOrder={setOrder}
      />
      {rows.pinned.length + rows.rows.length === 0 ? (
        <EmptyTable total={records.length} onReset={() => setFilter(ALL)} />
      ) : (
        <ProcessTable
          listed={rows}
          columns={columns}
          options={options}
          order={order}
          open={open}
          onOrder={setOrder}
          onToggle={toggle}
          onToggleGroup={toggleGroup}
          selecting={selecting}
        />
      )}
      <SelectedBar records={records} selecting={selecting} />
    </>
  );
}

type SelectedBarProps = { readonly records: readonly ProcessRecord[]; readonly selecting: Selecting };

function SelectedBar({ records, selecting }: SelectedBarProps): JSX.Element | null {
  const { selection, total, onAll, onNone } = selecting;
  const selected = selectedOf(records, selection);
  return selected.length === 0 ? null : (
    <SelectionBar selected={selected} total={total} onAll={onAll} onNone={onNone} />
  );
}

function useToggled(): readonly [ReadonlySet<string>, (name: string) => void] {
  const [names, setNames] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (name: string) =>
      setNames((before) => {
        const next = new Set(before);
        if (!next.delete(name)) next.add(name);
        return next;
      }),
    [],
  );
  return [names, toggle];
}

function useOptions(): readonly [ViewOptions, (options: ViewOptions) => void] {
  const [options, setOptions] = useState(() => storedOptions(localStorage));
  const set = (next: ViewOptions): void => {
    storeOptions(localStorage, next);
    setOptions(next);
  };
  return [options, set];
}

/** undefined: cards. */
function useColumns({ pid, port }: ViewOptions): ShownColumns | undefined {
  const [width, setWidth] = useState(innerWidth);
  useEffect(() => {
    const look = (): void => setWidth(innerWidth);
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, []);
  return useMemo(
    () => (width <= CARDS ? undefined : columnsFor(Math.min(width, WIDEST) - AROUND, { pid, port })),
    [width, pid, port],
  );
}

function EmptyTable({ total, onReset }: { readonly total: number; readonly onReset: () => void }): JSX.Element {
  if (total === 0)
    return <p class="empty">This procman has no processes. Add one to its configuration file, then reload it.</p>;
  return (
    <p class="empty">
      No matches.{" "}
      <button type="button" onClick={onReset}>
        Show all {total}
      </button>
    </p>
  );
}

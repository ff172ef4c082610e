/** The table of processes. Of the rows below the pinned ones only those in view are in the document. */
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { RowHeights } from "../model/row-heights.ts";
import { useNow } from "../parts/app-context.ts";
import { GroupRow } from "./group-row.tsx";
import { firstOrder, type ListedRow, type ListedRows, type ListOrder } from "./process-list.ts";
import { ProcessRow } from "./process-row.tsx";
import type { OnSelect } from "./row-selection.ts";
import { useRowWindow } from "./row-window.ts";
import type { Selecting } from "./use-selection.ts";
import type { ColumnKey, ShownColumns, ViewOptions } from "./view-options.ts";

const TITLES: Readonly<Record<ColumnKey, string>> = {
  id: "Process",
  status: "State",
  pid: "Pid",
  port: "Port",
  up: "Up",
  restarts: "Restarts",
  cpu: "CPU",
  memory: "Memory",
  next: "Next run",
};

/** Heights of rows, and of the heads of groups, as in the style sheet. Pixels. */
const HEIGHTS = {
  table: { process: 40, group: 40 },
  compactTable: { process: 28, group: 28 },
  cards: { process: 62, group: 40 },
  compactCards: { process: 54, group: 36 },
} as const;
/** How often durations are counted on. Milliseconds. */
const CLOCK_MS = 10_000;

type ProcessTableProps = {
  readonly listed: ListedRows;
  /** undefined: cards, for narrow screens. */
  readonly columns: ShownColumns | undefined;
  readonly options: ViewOptions;
  readonly order: ListOrder;
  readonly open: ReadonlySet<string>;
  readonly onOrder: (order: ListOrder) => void;
  readonly onToggle: (id: string) => void;
  readonly onToggleGroup: (name: string) => void;
  readonly selecting: Selecting;
};

export function ProcessTable(props: ProcessTableProps): JSX.Element {
  const { listed, columns, options, order, onOrder } = props;
  const { onSelect } = props.selecting;
  const { pinned, rows } = listed;
  const body = useRef<HTMLTableSectionElement>(null);
  const shape = columns === undefined ? "cards" : "table";
  const { process, group } = HEIGHTS[!options.isCompact ? shape : shape === "cards" ? "compactCards" : "compactTable"];
  const heights = useMemo(
    () => new RowHeights(rows.map(({ kind }) => (kind === "group" ? group : process))),
    [rows, process, group],
  );
  const { from, to } = useRowWindow(body, heights, rows.length);
  const now = useNow(CLOCK_MS);
  const keys: readonly ColumnKey[] = ["id", "status", ...(columns?.keys ?? [])];
  const row = (each: ListedRow, index: number): JSX.Element => (
    <TableRow key={each.key} {...props} row={each} index={index} now={now} />
  );
  return (
    <table
      class={`processes ${shape}${options.isCompact ? " compact" : ""}${onSelect === undefined ? "" : " selectable"}`}
      aria-rowcount={pinned.length + rows.length + 1}
      onKeyDown={(event) => onRowKey(event, onSelect)}
    >
      <caption class="hidden">
        Processes. Arrow keys go from row to row, Enter opens one, x selects one, arrow keys with Shift select several.
      </caption>
      <colgroup>
        <col style={columns === undefined ? {} : { width: `${columns.nameWidth}px` }} />
        <col />
        {columns?.keys.map((key) => (
          <col key={key} class={`col-${key}${columns.hasCurves ? " with-curve" : ""}`} />
        ))}
        <col class="col-actions" />
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {keys.map((key) => (
            <HeaderCell key={key} column={key} order={order} onOrder={onOrder} />
          ))}
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      {pinned.length > 0 && <tbody class="pinned">{pinned.map(row)}</tbody>}
      <tbody ref={body}>
        <SpaceRow height={heights.top(from)} span={keys.length + 1} />
        {rows.slice(from, to).map((each, index) => row(each, pinned.length + from + index))}
        <SpaceRow height={heights.total - heights.top(to)} span={keys.length + 1} />
      </tbody>
    </table>
  );
}

type TableRowProps = ProcessTableProps & {
  readonly row: ListedRow;
  readonly index: number;
  readonly now: number;
};

function TableRow(props: TableRowProps): JSX.Element {
  const { row, index, now, columns, options, open, selecting, onToggle, onToggleGroup } = props;
  if (row.kind === "group") return <GroupRow group={row} index={index} columns={columns} onToggle={onToggleGroup} />;
  return (
    <ProcessRow
      index={index}
      now={now}
      record={row.record}
      isNested={row.isNested}
      isPinned={row.isPinned}
      isOpen={open.has(row.record.id)}
      columns={columns}
      demanded={options}
      onToggle={onToggle}
      isSelected={selecting.selection.ids.has(row.record.id)}
      onSelect={selecting.onSelect}
    />
  );
}

/** In place of the rows that aren't in view. */
function SpaceRow({ height, span }: { readonly height: number; readonly span: number }): JSX.Element | null {
  return height <= 0 ? null : (
    <tr class="space">
      <td colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}

type HeaderCellProps = { readonly column: ColumnKey } & Pick<ProcessTableProps, "order" | "onOrder">;

function HeaderCell({ column, order, onOrder }: HeaderCellProps): JSX.Element {
  const className = column === "id" || column === "status" ? "" : "number";
  if (column === "pid" || column === "port")
    return (
      <th scope="col" class={className}>
        {TITLES[column]}
      </th>
    );
  const isSorted = order.key === column;
  const next = isSorted ? { key: column, isDescending: !order.isDescending } : firstOrder(column);
  return (
    <th
      scope="col"
      class={className}
      aria-sort={!isSorted ? undefined : order.isDescending ? "descending" : "ascending"}
    >
      <button type="button" class="sort" onClick={() => onOrder(next)}>
        {TITLES[column]}
        <span aria-hidden="true">{!isSorted ? "" : order.isDescending ? " ↓" : " ↑"}</span>
      </button>
    </th>
  );
}

/** Only while the focus is in the table. */
function onRowKey(event: KeyboardEvent, onSelect: OnSelect | undefined): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog") !== null) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const id = target.closest("tr")?.dataset.id;
  if (event.key === "x" && id !== undefined) onSelect?.(id, false);
  if (step === undefined) return;
  event.preventDefault();
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("a.id")];
  const at = links.findIndex((link) => link.closest("tr") === target.closest("tr"));
  const next = links[Math.max(0, Math.min(links.length - 1, at + step))];
  next?.focus();
  const nextId = next?.closest("tr")?.dataset.id;
  if (!event.shiftKey || id === undefined || nextId === undefined) return;
  onSelect?.(id, true);
  onSelect?.(nextId, true);
}

/** The table of processes. Only the rows in view are in the document. */
import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useNow } from "../parts/app-context.ts";
import { firstOrder, type ListedProcess, type ListOrder, type SortKey } from "./process-list.ts";
import { ProcessRow } from "./process-row.tsx";

const COLUMNS: readonly { readonly key: SortKey; readonly title: string; readonly className?: string }[] = [
  { key: "id", title: "Process" },
  { key: "status", title: "State" },
  { key: "up", title: "Up", className: "number wide-only" },
  { key: "restarts", title: "Restarts", className: "number wide-only" },
  { key: "cpu", title: "CPU", className: "number wide-only" },
  { key: "memory", title: "Memory", className: "number wide-only" },
  { key: "next", title: "Next run", className: "number wide-only" },
];

/** Height of a row, as in the style sheet. Pixels. */
const ROW_HEIGHT = 40;
const NARROW_ROW_HEIGHT = 66;
const NARROW = "(max-width: 760px)";
/** How often durations are counted on. Milliseconds. */
const CLOCK_MS = 10_000;

type ProcessTableProps = {
  readonly rows: readonly ListedProcess[];
  readonly order: ListOrder;
  readonly open: ReadonlySet<string>;
  readonly onOrder: (order: ListOrder) => void;
  readonly onToggle: (id: string) => void;
};

export function ProcessTable({ rows, order, open, onOrder, onToggle }: ProcessTableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRowHeight();
  const { from, to } = useRowWindow(body, rows.length, height);
  const now = useNow(CLOCK_MS);
  return (
    <table class="processes" aria-rowcount={rows.length + 1} onKeyDown={onRowKey}>
      <caption class="hidden">Processes. Arrow keys go from row to row, Enter opens one.</caption>
      <thead>
        <tr aria-rowindex={1}>
          {COLUMNS.map((column) => (
            <HeaderCell key={column.key} column={column} order={order} onOrder={onOrder} />
          ))}
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        <SpaceRow height={from * height} />
        {rows.slice(from, to).map(({ record, isNested }, index) => (
          <ProcessRow
            key={record.id}
            index={from + index}
            now={now}
            record={record}
            isNested={isNested}
            isOpen={open.has(record.id)}
            onToggle={onToggle}
          />
        ))}
        <SpaceRow height={(rows.length - to) * height} />
      </tbody>
    </table>
  );
}

function useRowHeight(): number {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const look = (): void => setNarrow(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
}

/** In place of the rows that aren't in view. */
function SpaceRow({ height }: { readonly height: number }): JSX.Element | null {
  return height <= 0 ? null : (
    <tr class="space">
      <td colSpan={COLUMNS.length + 1} style={{ height: `${height}px` }} />
    </tr>
  );
}

type HeaderCellProps = { readonly column: (typeof COLUMNS)[number] } & Pick<ProcessTableProps, "order" | "onOrder">;

function HeaderCell({ column: { key, title, className = "" }, order, onOrder }: HeaderCellProps): JSX.Element {
  const isSorted = order.key === key;
  const next = isSorted ? { key, isDescending: !order.isDescending } : firstOrder(key);
  return (
    <th
      scope="col"
      class={className}
      aria-sort={!isSorted ? undefined : order.isDescending ? "descending" : "ascending"}
    >
      <button type="button" class="sort" onClick={() => onOrder(next)}>
        {title}
        <span aria-hidden="true">{!isSorted ? "" : order.isDescending ? " ↓" : " ↑"}</span>
      </button>
    </th>
  );
}

/** Only while the focus is in the table. */
function onRowKey(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const target = event.target as HTMLElement;
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || target.tagName === "INPUT") return;
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("a.id")];
  const at = links.findIndex((link) => link.closest("tr") === target.closest("tr"));
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  event.preventDefault();
}

/** Rows above and below the view. */
const MARGIN = 10;
/** Shorter tables are shown whole. */
const WHOLE_ROWS = 60;

type RowRange = { readonly from: number; readonly to: number };

/** Which rows are in view, so that only these are in the document. `body`: the element with the rows, all `height` high, somewhere in the scrolled page. */
function useRowWindow(body: RefObject<HTMLElement | null>, count: number, height: number): RowRange {
  const [range, setRange] = useState<RowRange>({ from: 0, to: WHOLE_ROWS });
  useEffect(() => {
    if (count <= WHOLE_ROWS) return undefined;
    const look = (): void => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const from = Math.max(0, Math.floor(top / height) - MARGIN);
      const to = Math.ceil((top + innerHeight) / height) + MARGIN;
      setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [body, count, height]);
  return count <= WHOLE_ROWS
    ? { from: 0, to: count }
    : { from: Math.min(range.from, count), to: Math.min(range.to, count) };
}

/** The table of processes, as far as it is on the screen. */
import { STATUS_COLUMNS } from "../../cli/output/status-table.ts";
import { shortened } from "../../cli/output/table.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { CellBuffer, CellStyle } from "./cell-buffer.ts";
import { layoutOf, type MonitorModel, visibleRows } from "./monitor-model.ts";
import { type Palette, reversed } from "./palette.ts";
import { lastSteps, sparkline } from "./usage-history.ts";

const GAP = 2;
const SPARK = 10;
/** Room that the last column gets before others are left out. */
const LEAST_WHY = 12;
/** An id gets at most this share of the screen. */
const ID_SHARE = 0.3;
/** A whole bar, for processes that use hardly anything: percent, bytes. */
const LEAST_BAR = { cpuPercent: 5, memoryBytes: 1_000_000 };

type TableColumn = {
  readonly title: string;
  readonly width: number;
  /** Order of omission: the lowest rank is left out first; columns without a rank stay. */
  readonly rank?: number;
  readonly isRight?: boolean;
  readonly text: (record: ProcessRecord) => string;
  readonly style?: (record: ProcessRecord) => CellStyle;
};

export function drawTable(cells: CellBuffer, model: MonitorModel, palette: Palette): void {
  const { table, tableRows } = layoutOf(model);
  if (tableRows < 1) return;
  const columns = fitted(columnsFor(model, palette), cells.columns);
  drawRow({ cells, row: table, columns }, ({ title }) => ({ text: title, style: palette.dim }));
  if (model.rows.length === 0) cells.put(emptyText(model), { column: 0, row: table + 1 });
  for (const [index, record] of visibleRows(model).entries()) {
    const row = table + 1 + index;
    drawRow({ cells, row, columns }, ({ text, style }) => ({ text: text(record), style: style?.(record) ?? "" }));
    if (record.id === model.selected)
      cells.restyle({ column: 0, row }, model.focus === "table" ? reversed : () => palette.strong);
  }
}

function emptyText({ records, choice, connection }: MonitorModel): string {
  if (records.length > 0) return `No process matches "${choice.filter}"; Escape shows all`;
  return connection.state === "open"
    ? 'No processes: the configuration has none. "procman add -- PROGRAM" adds one'
    : "";
}

type RowPlace = { readonly cells: CellBuffer; readonly row: number; readonly columns: readonly TableColumn[] };

function drawRow(
  { cells, row, columns }: RowPlace,
  cell: (column: TableColumn) => { readonly text: string; readonly style: CellStyle },
): void {
  let column = 0;
  for (const each of columns) {
    const { text, style } = cell(each);
    const shown = each.isRight === true ? text.padStart(each.width) : text;
    cells.put(shown, { column, row, room: each.width }, style);
    column += each.width + GAP;
  }
}

/** Columns without room are left out; the last one gets the rest. */
function fitted(columns: readonly TableColumn[], room: number): readonly TableColumn[] {
  const used = (all: readonly TableColumn[]): number => all.reduce((sum, { width }) => sum + width + GAP, 0);
  let shown = columns.slice(0, -1);
  const [last] = columns.slice(-1);
  const spare = shown
    .filter(({ rank }) => rank !== undefined)
    .sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0));
  for (const each of spare) if (room - used(shown) < LEAST_WHY) shown = shown.filter((column) => column !== each);
  return last === undefined ? shown : [...shown, { ...last, width: Math.max(0, room - used(shown)) }];
}

function columnsFor(model: MonitorModel, palette: Palette): readonly TableColumn[] {
  const { rows, size, now, histories } = model;
  const cellOf = (title: string): ((record: ProcessRecord) => string) => {
    const column = STATUS_COLUMNS.find((each) => each.title === title);
    return (record) => column?.cell(record, now) ?? "";
  };
  const id = cellOf("ID");
  const status = cellOf("STATUS");
  const idWidth = Math.min(widest(rows, id, 2), Math.max(8, Math.floor(size.columns * ID_SHARE)));
  const spark = (value: "cpuPercent" | "memoryBytes", rank: number): TableColumn => ({
    title: "",
    width: SPARK,
    rank,
    text: (record) =>
      sparkline(lastSteps(histories.get(record.id) ?? [], { value, now, count: SPARK }), LEAST_BAR[value]),
    style: () => palette.spark,
  });
  const right = (title: string, width: number, rank: number): TableColumn => ({
    title,
    width,
    rank,
    isRight: true,
    text: cellOf(title),
  });
  return [
    { title: "ID", width: idWidth, text: (record) => shortened(id(record), idWidth) },
    { title: "STATUS", width: widest(rows, status, 6), text: status, style: (record) => palette.status(record) },
    right("PID", 7, 4),
    right("UP", 6, 5),
    right("CPU", 7, 8),
    spark("cpuPercent", 6),
    right("MEMORY", 8, 7),
    spark("memoryBytes", 2),
    right("RSS", 8, 0),
    ...(rows.some(({ backend }) => backend !== undefined) ? [right("CONNECTIONS", 11, 1)] : []),
    right("RESTARTS", 8, 3),
    { title: "WHY", width: 0, text: cellOf("WHY") },
  ];
}

function widest(rows: readonly ProcessRecord[], cell: (record: ProcessRecord) => string, least: number): number {
  return rows.reduce((most, record) => Math.max(most, cell(record).length), least);
}

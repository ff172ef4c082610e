/** The table of processes, as far as it is on the screen. */
import { STATUS_COLUMNS } from "../../cli/output/status-table.ts";
import { shortened } from "../../cli/output/table.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { CellBuffer, CellStyle } from "./cell-buffer.ts";
import { layoutOf, visibleRows } from "./monitor-layout.ts";
import type { MonitorModel } from "./monitor-model.ts";
import { type Palette, reversed } from "./palette.ts";
import { lastSteps, sparkline, type UsageValue, wholeBar } from "./usage-history.ts";

const GAP = 2;
const SPARK = 10;
const SPARK_TITLE = "LAST 50 S";
/** From this share of its limit on, a bar looks like a problem. */
const ALARMING = 0.9;
/** Room that the last column gets before others are left out. */
const LEAST_WHY = 22;
/** An id gets at most this share of the screen. */
const ID_SHARE = 0.3;

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
  const { rows, size } = model;
  const cellOf = (title: string): ((record: ProcessRecord) => string) => {
    const column = STATUS_COLUMNS.find((each) => each.title === title);
    return (record) => column?.cell(record, model.now) ?? "";
  };
  const id = cellOf("ID");
  const status = cellOf("STATUS");
  const idWidth = Math.min(widest(rows, id, 2), Math.max(8, Math.floor(size.columns * ID_SHARE)));
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
    right("PID", 7, 5),
    right("UP", 6, 6),
    right("CPU", 7, 8),
    sparkColumn(model, palette, { value: "cpuPercent", rank: 3 }),
    right("MEMORY", 8, 7),
    sparkColumn(model, palette, { value: "memoryBytes", rank: 2 }),
    right("RSS", 8, 0),
    ...(rows.some(({ backend }) => backend !== undefined) ? [right("CONNECTIONS", 11, 1)] : []),
    right("RESTARTS", 8, 4),
    { title: "WHY", width: 0, text: cellOf("WHY") },
  ];
}

/** Bars of the last time. A whole one is the limit of the process or, without one, all that the machine has. */
function sparkColumn(
  { histories, machine, now }: MonitorModel,
  palette: Palette,
  { value, rank }: { readonly value: UsageValue; readonly rank: number },
): TableColumn {
  return {
    title: SPARK_TITLE,
    width: SPARK,
    rank,
    text: (record) => {
      const whole = wholeBar(record, value, machine);
      const steps = lastSteps(histories.get(record.id) ?? [], { value, now, count: SPARK });
      return whole === undefined ? "" : sparkline(steps, whole.value);
    },
    style: (record) => {
      const whole = wholeBar(record, value, machine);
      const isAlarming = whole?.isLimit === true && (record[value] ?? 0) >= ALARMING * whole.value;
      return isAlarming ? palette.problem : palette.spark;
    },
  };
}

function widest(rows: readonly ProcessRecord[], cell: (record: ProcessRecord) => string, least: number): number {
  return rows.reduce((most, record) => Math.max(most, cell(record).length), least);
}

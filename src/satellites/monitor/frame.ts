/** The whole screen of a model, as cells. */
import { hostStamp } from "../../core/base/time-stamp.ts";
import { CellBuffer, type CellStyle } from "./cell-buffer.ts";
import { type DetailStyles, detailLines, detailRows } from "./detail-lines.ts";
import { HELP, helpLine } from "./help-texts.ts";
import { drawLog } from "./log-view.ts";
import { helpRows, layoutOf } from "./monitor-layout.ts";
import { isTyping, type Mode, type MonitorModel } from "./monitor-model.ts";
import { type Palette, reversed } from "./palette.ts";
import { countsOf } from "./process-rows.ts";
import { drawTable } from "./process-table.ts";

/** Records that are older are shown with their age. Milliseconds. */
const STALE_MS = 15_000;

export function frameOf(model: MonitorModel, palette: Palette): CellBuffer {
  const cells = new CellBuffer(model.size);
  const { mode } = model;
  drawTitle(cells, model, palette);
  if (mode.name === "help") drawHelp(cells, shownHelp(model, mode.from), palette);
  else if (mode.name === "detail") drawDetail(cells, model, { mode, palette });
  else {
    drawTable(cells, model, palette);
    drawLog(cells, model, palette);
  }
  drawStatus(cells, model, palette);
  cells.put(keysText(model), { column: 0, row: layoutOf(model).help }, palette.dim);
  return cells;
}

function drawTitle(cells: CellBuffer, model: MonitorModel, palette: Palette): void {
  const { name, profile, records, connection } = model;
  let column = cells.put(
    `procman ${name}${profile === undefined ? "" : ` (profile ${profile})`}`,
    { column: 0, row: 0 },
    palette.title,
  );
  for (const [status, count] of countsOf(records))
    column = cells.put(`${count} ${status}`, { column: column + 2, row: 0 }, palette.status({ status }));
  const state = connectionText(model);
  // What is lost is more important than what is counted.
  const from = Math.max(0, cells.columns - state.length);
  if (connection.state === "open" && from <= column + 1) return;
  cells.put(
    ` ${state}`,
    { column: Math.max(0, from - 1), row: 0 },
    connection.state === "open" ? palette.dim : reversed(palette.problem),
  );
}

function connectionText({ connection, now, updated }: MonitorModel): string {
  const ageSeconds = Math.floor((now - updated) / 1_000);
  if (connection.state === "open") {
    const clock = hostStamp(now).slice(11, 19);
    return now - updated > STALE_MS ? `as of ${ageSeconds} s ago  ${clock}` : clock;
  }
  const { retryAt, isEnded = false } = connection;
  if (isEnded) return "procman has ended";
  if (retryAt === undefined) return "connection lost, reconnecting";
  return `connection lost, again in ${Math.max(1, Math.ceil((retryAt - now) / 1_000))} s`;
}

type DetailPage = { readonly mode: Mode & { readonly name: "detail" }; readonly palette: Palette };

function drawDetail(cells: CellBuffer, model: MonitorModel, { mode, palette }: DetailPage): void {
  const styles: DetailStyles = {
    heading: palette.strong,
    text: "",
    problem: palette.problem,
    dim: palette.dim,
    curve: palette.spark,
  };
  const shown = detailLines(model, mode).slice(mode.scroll, mode.scroll + detailRows(model));
  for (const [index, { text, kind }] of shown.entries()) cells.put(text, { column: 0, row: 1 + index }, styles[kind]);
}

function keysText(model: MonitorModel): string {
  const { mode, size } = model;
  const hasMore = mode.name === "help" && mode.from + helpRows(model) < HELP.length;
  return hasMore ? "any key: more" : helpLine(mode, size.columns);
}

function shownHelp(model: MonitorModel, from: number): typeof HELP {
  return HELP.slice(from, from + helpRows(model));
}

function drawHelp(cells: CellBuffer, shown: typeof HELP, palette: Palette): void {
  for (const [index, [keys, text]] of shown.entries()) {
    cells.put(keys, { column: 1, row: 2 + index }, palette.strong);
    cells.put(text, { column: 16, row: 2 + index });
  }
}

function drawStatus(cells: CellBuffer, model: MonitorModel, palette: Palette): void {
  const { status, statusLines } = layoutOf(model);
  const style = statusStyle(model, palette);
  const isInput = isTyping(model);
  for (const [index, line] of statusLines.entries()) {
    const row = status + index;
    const isLast = index === statusLines.length - 1;
    const column = cells.put(line, { column: 0, row, room: cells.columns - (isInput ? 1 : 0) }, style);
    if (isInput && isLast) cells.put(" ", { column, row }, "7");
  }
}

function statusStyle(model: MonitorModel, palette: Palette): CellStyle {
  const { mode, notice, connection } = model;
  if (isTyping(model)) return palette.strong;
  if (mode.name === "confirm") return palette.question;
  if (notice !== undefined) return notice.isProblem ? palette.problem : palette.good;
  return connection.state === "lost" ? palette.problem : palette.dim;
}

/** The log pane: lines of the selected process. */
import { hostStamp } from "../../core/base/time-stamp.ts";
import type { CellBuffer } from "./cell-buffer.ts";
import { hitsOf, isHit, shownLines } from "./log-lines.ts";
import { followedId, layoutOf, type MonitorModel, type ShownLine } from "./monitor-model.ts";
import type { Palette } from "./palette.ts";
import { columnsOf, fromColumn, widthOf } from "./text-clusters.ts";

const LONGEST_ID = 24;

export function drawLog(cells: CellBuffer, model: MonitorModel, palette: Palette): void {
  const { log: row, logRows } = layoutOf(model);
  if (logRows < 1) return;
  const { log, focus } = model;
  const style = focus === "log" ? palette.strong : palette.dim;
  cells.put("─".repeat(cells.columns), { column: 0, row }, style);
  const end = cells.put(titleOf(model), { column: 2, row, room: cells.columns - 4 }, style);
  const state = stateOf(model);
  const column = cells.columns - state.length - 2;
  if (column > end) cells.put(state, { column, row }, log.below > 0 ? palette.question : style);
  if (log.problem !== undefined) cells.put(log.problem, { column: 0, row: row + 1 }, palette.problem);
  for (const [index, line] of shownLines(log, logRows).entries())
    drawLine({ cells, row: row + 1 + index, line, model, palette });
}

function titleOf(model: MonitorModel): string {
  const id = followedId(model);
  return id === undefined ? " log " : ` log of ${id} `;
}

function stateOf({ log, focus }: MonitorModel): string {
  const hits = log.search === "" ? [] : hitsOf(log);
  const position = log.hit === undefined ? "" : `${hits.indexOf(log.hit) + 1} of `;
  const found = log.search === "" ? "" : ` "${log.search}": ${position}${hits.length} ·`;
  if (log.below > 0) return `${found} ${log.below} more below, ${focus === "log" ? "" : "Tab "}End follows `;
  return `${found} following `;
}

type LogRow = {
  readonly cells: CellBuffer;
  readonly row: number;
  readonly line: ShownLine;
  readonly model: MonitorModel;
  readonly palette: Palette;
};

function drawLine({ cells, row, line, model, palette }: LogRow): void {
  const { time, process, isOutput, isError, severity, number } = line;
  const { log } = model;
  const clock = time === "" ? "" : hostStamp(Date.parse(time)).slice(11, 19);
  let column = cells.put(clock, { column: 0, row }, palette.dim) + 1;
  // Without an instance to tell apart, the id is in the title.
  if (process !== log.id) column = cells.put(process, { column, row, room: LONGEST_ID }, palette.process) + 1;
  column =
    cells.put(isError ? "!" : isOutput ? "|" : "·", { column, row }, isError ? palette.problem : palette.dim) + 1;
  const text = fromColumn(line.text, log.shift);
  cells.put(text, { column, row }, isOutput ? "" : palette.severity[severity]);
  if (isOutput) drawColors({ cells, row, line, model, palette }, column);
  if (!isHit(line, log.search)) return;
  const style = number === log.hit ? palette.currentHit : palette.hit;
  const shown = text.toLowerCase();
  const wanted = log.search.toLowerCase();
  for (let at = shown.indexOf(wanted); at >= 0; at = shown.indexOf(wanted, at + wanted.length)) {
    const from = column + widthOf(text.slice(0, at));
    if (from >= cells.columns) return;
    cells.restyle({ column: from, row, room: widthOf(text.slice(at, at + wanted.length)) }, () => style);
  }
}

/** Only the look of cells changes, so what a program prints moves nothing. `column`: where the text begins. */
function drawColors({ cells, row, line: { text, colors }, model, palette }: LogRow, column: number): void {
  if (colors === undefined) return;
  const left = column - model.log.shift;
  let end = left + columnsOf(text.slice(0, colors[0]?.at), 0);
  for (const [index, { at, style }] of colors.entries()) {
    const begin = end;
    if (begin >= cells.columns) return;
    end += columnsOf(text.slice(at, colors[index + 1]?.at), begin - left);
    const first = Math.max(column, begin);
    if (end > first) cells.restyle({ column: first, row, room: end - first }, () => palette.output(style));
  }
}

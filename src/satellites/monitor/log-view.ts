/** The log pane: lines of the selected process, or of all. */
import { shortened } from "../../cli/output/table.ts";
import { fingerprint } from "../../core/base/hash.ts";
import { hostStamp } from "../../core/base/time-stamp.ts";
import type { CellBuffer } from "./cell-buffer.ts";
import { hitsOf, isHit, OWN_ID, shownLines } from "./log-lines.ts";
import { followedId, layoutOf } from "./monitor-layout.ts";
import { ALL, type MonitorModel, type ShownLine } from "./monitor-model.ts";
import type { Palette } from "./palette.ts";
import { columnsOf, fromColumn, widthOf } from "./text-clusters.ts";

const LONGEST_ID = 24;
/** Ids get at most this share of the screen. */
const ID_SHARE = 0.25;

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
  const idWidth = idWidthOf(model);
  for (const [index, line] of shownLines(log, logRows).entries())
    drawLine({ cells, row: row + 1 + index, line, model, palette, idWidth });
}

/** Width of the column with the ids; 0: all lines are of the process in the title. */
function idWidthOf({ log, records, size }: MonitorModel): number {
  const shown = log.id === ALL ? records : records.filter(({ id }) => id === log.id);
  const ids = shown.flatMap(({ id, instances }) => instances?.map((instance) => instance.id) ?? [id]);
  const widest = ids.reduce((most, id) => Math.max(most, id.length), log.id === ALL ? OWN_ID.length : 0);
  return ids.every((id) => id === log.id) ? 0 : Math.min(widest, LONGEST_ID, Math.floor(size.columns * ID_SHARE));
}

function titleOf(model: MonitorModel): string {
  const id = followedId(model);
  if (id === ALL) return " log of all processes ";
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
  readonly idWidth: number;
};

/** The time and, where there are processes to tell apart, the id. Returns the column behind it. */
function drawHead({ cells, row, line: { time, process }, model, palette, idWidth }: LogRow): number {
  const clock = time === "" ? "" : hostStamp(Date.parse(time)).slice(11, 19);
  const column = cells.put(clock, { column: 0, row }, palette.dim) + 1;
  if (idWidth === 0 && process === model.log.id) return column;
  const id = shortened(process, idWidth === 0 ? LONGEST_ID : idWidth).padEnd(idWidth);
  // The same for an id each time.
  const hue = Number.parseInt(fingerprint(process), 36) % palette.processes.length;
  return cells.put(id, { column, row }, palette.processes[hue] ?? "") + 1;
}

function drawLine(place: LogRow): void {
  const { cells, row, line, palette } = place;
  const { isOutput, isError, severity } = line;
  const { log } = place.model;
  const sign = isError ? "!" : isOutput ? "|" : "·";
  const column = cells.put(sign, { column: drawHead(place), row }, isError ? palette.problem : palette.dim) + 1;
  const text = fromColumn(line.text, log.shift);
  cells.put(text, { column, row }, isOutput ? "" : palette.severity[severity]);
  if (isOutput) drawColors(place, column);
  if (isHit(line, log.search)) markHits(place, text, column);
}

/** `text`: as far as it is not left of the screen. */
function markHits(
  { cells, row, line: { number }, model: { log }, palette }: LogRow,
  text: string,
  column: number,
): void {
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

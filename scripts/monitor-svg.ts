/** The screen of the monitor as a picture, from its own cells. */
import type { CellBuffer } from "../src/satellites/monitor/cell-buffer.ts";
import { frameOf } from "../src/satellites/monitor/frame.ts";
import { ALL, initialModel, type MonitorInput, type MonitorModel } from "../src/satellites/monitor/monitor-model.ts";
import { update } from "../src/satellites/monitor/monitor-update.ts";
import { paletteFor } from "../src/satellites/monitor/palette.ts";
import { logEntries, metricPoints, NOW, RECORDS } from "./picture-data.ts";

const SIZE = { columns: 100, rows: 22 };
const MACHINE = { cpus: 2, totalMemoryBytes: 8_000_000_000 };
/** Of a cell. Pixels. */
const WIDTH = 7.8;
const HEIGHT = 17;
const FONT = 13;
const MARGIN = 12;
const BACKGROUND = "#10141b";
const TEXT = "#dfe5ee";
/** Of SGR 30 to 37. */
const COLORS = ["#10141b", "#ff8a80", "#54c98d", "#e3b341", "#7db3ff", "#d09cf0", "#66d0e0", "#dfe5ee"];

export function monitorSvg(): string {
  const cells = frameOf(model(), paletteFor(true));
  const rows = Array.from({ length: cells.rows }, (_, row) => rowSvg(cells, row));
  const width = SIZE.columns * WIDTH + 2 * MARGIN;
  const height = SIZE.rows * HEIGHT + 2 * MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="procman monitor">
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT}" fill="${TEXT}">
${rows.join("")}</g>
</svg>
`;
}

function model(): MonitorModel {
  const ids = RECORDS.flatMap(({ id, instances = [] }) => [id, ...instances.map((each) => each.id)]);
  const items = logEntries(20).map((entry) => ({ type: "entry", entry, cursor: "" }) as const);
  const inputs: readonly MonitorInput[] = [
    { type: "connection", connection: { state: "open" }, now: NOW },
    { type: "service", name: "shop", machine: MACHINE },
    { type: "processes", records: RECORDS, now: NOW },
    ...ids.map((id) => ({ type: "history", id, points: metricPoints(id, NOW - 600_000, 5, 9_000) }) as const),
    { type: "key", key: { name: "text", text: "a" } },
    { type: "log-begin", id: ALL },
    { type: "log", id: ALL, items },
  ];
  return inputs.reduce((before, input) => update(before, input).model, initialModel(SIZE, NOW));
}

/** A text for each run of cells with one style. */
function rowSvg(cells: CellBuffer, row: number): string {
  let svg = "";
  for (let from = 0; from < cells.columns; ) {
    const style = cells.styles[row * cells.columns + from] ?? "";
    let to = from;
    while (to < cells.columns && cells.styles[row * cells.columns + to] === style) to += 1;
    svg += runSvg({ cells, row, from, to, style });
    from = to;
  }
  return svg;
}

type CellRun = {
  readonly cells: CellBuffer;
  readonly row: number;
  readonly from: number;
  readonly to: number;
  readonly style: string;
};

function runSvg({ cells, row, from, to, style }: CellRun): string {
  const text = cells.texts.slice(row * cells.columns + from, row * cells.columns + to).join("");
  const codes = style.split(";");
  const color = COLORS[Number(codes.find((code) => /^3[0-7]$/.test(code)) ?? "37") - 30] ?? TEXT;
  const isReversed = codes.includes("7");
  const x = MARGIN + from * WIDTH;
  const y = MARGIN + row * HEIGHT;
  const width = (to - from) * WIDTH;
  const back = isReversed
    ? `<rect x="${fixed(x)}" y="${y}" width="${fixed(width)}" height="${HEIGHT}" fill="${color}"/>`
    : "";
  const shown = text.trimEnd();
  if (shown.trim() === "") return back;
  const attributes = [
    `x="${fixed(x)}" y="${fixed(y + HEIGHT * 0.76)}" textLength="${fixed(shown.length * WIDTH)}" xml:space="preserve"`,
    ...(isReversed ? [`fill="${BACKGROUND}"`] : color === TEXT ? [] : [`fill="${color}"`]),
    ...(codes.includes("1") ? ['font-weight="bold"'] : []),
    ...(codes.includes("2") ? ['opacity="0.65"'] : []),
  ];
  return `${back}<text ${attributes.join(" ")}>${escaped(shown)}</text>\n`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

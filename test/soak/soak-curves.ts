/** The curves of a soak as one picture, readable on light and on dark pages. */
import { MEASURES } from "./soak-analysis.ts";
import { PARTS, type Sample, STATE_FOLDERS } from "./soak-sampler.ts";
import type { Span } from "./soak-schedule.ts";

const SIZE = { width: 1_000, columns: 2, height: 170, left: 52, gap: 34, top: 64, label: 30 };
/** Of one curve, at most: the picture stays small. */
const MOST_POINTS = 240;

type Curve = { readonly name: string; readonly values: readonly (number | undefined)[] };
type Panel = { readonly title: string; readonly curves: readonly Curve[] };
type Frame = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

const STYLE = `
.back { fill: #ffffff } text { fill: #1f2733; font: 12px system-ui, sans-serif } .title { font-weight: 600 } .dim { fill: #5a6675 }
.frame { fill: none; stroke: #c4ccd6 } .kills { fill: #d9480f; opacity: 0.09 } .kill { stroke: #d9480f; opacity: 0.35 }
polyline { fill: none; stroke-width: 1.4; stroke-linejoin: round }
.c0 { stroke: #1c64c8 } .c1 { stroke: #b4540a } .c2 { stroke: #157a4b } .c3 { stroke: #7a3fc0 } .c4 { stroke: #9a1f52 }
rect.c0 { fill: #1c64c8 } rect.c1 { fill: #b4540a } rect.c2 { fill: #157a4b } rect.c3 { fill: #7a3fc0 } rect.c4 { fill: #9a1f52 }
@media (prefers-color-scheme: dark) {
.back { fill: #10141b } text { fill: #dfe5ee } .dim { fill: #9aa7b8 } .frame { stroke: #3b4656 } .kills { fill: #ff9a6b; opacity: 0.12 } .kill { stroke: #ff9a6b }
.c0 { stroke: #7db3ff } .c1 { stroke: #f0a35e } .c2 { stroke: #54c98d } .c3 { stroke: #d09cf0 } .c4 { stroke: #ff8fb6 }
rect.c0 { fill: #7db3ff } rect.c1 { fill: #f0a35e } rect.c2 { fill: #54c98d } rect.c3 { fill: #d09cf0 } rect.c4 { fill: #ff8fb6 }
}`;

/** `kills`: seconds since the beginning. */
export function curvesSvg(samples: readonly Sample[], spans: readonly Span[], kills: readonly number[]): string {
  const panels = panelsOf(samples);
  const height = SIZE.top + Math.ceil(panels.length / SIZE.columns) * (SIZE.height + SIZE.label + 12) + 8;
  const last = Math.max(samples.at(-1)?.at ?? 1, 1);
  const parts = panels.map((panel, index) =>
    panelSvg(panel, { frame: frameOf(index), at: samples.map(({ at }) => at), last, spans, kills }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${height}" width="${SIZE.width}" height="${height}" role="img" aria-label="Curves of a soak of ${Math.round(last / 60)} minutes">
<style>${STYLE}</style>
<rect class="back" width="100%" height="100%" rx="8"/>
<text class="title" x="16" y="24">procman under load for ${Math.round(last / 60)} minutes</text>
${legend()}
${parts.join("\n")}
</svg>
`;
}

function panelsOf(samples: readonly Sample[]): readonly Panel[] {
  const ofParts = MEASURES.map(({ name, unit, of }) => ({
    title: `${name[0]?.toUpperCase()}${name.slice(1)}${unit === "" ? "" : `, ${unit}`}`,
    curves: PARTS.map((part) => ({ name: part, values: samples.map(({ parts }) => parts[part] && of(parts[part])) })),
  }));
  const ofState = [
    { title: "State folder, MB", curves: [{ name: "bytes", values: samples.map(({ bytes }) => sumOf(bytes) / 1e6) }] },
    { title: "Processes", curves: [{ name: "processes", values: samples.map(({ processes }) => processes) }] },
    { title: "FIFOs", curves: [{ name: "fifos", values: samples.map(({ fifos }) => fifos) }] },
  ];
  return [...ofParts, ...ofState];
}

function sumOf(bytes: Sample["bytes"]): number {
  return STATE_FOLDERS.reduce((sum, folder) => sum + bytes[folder], 0);
}

function frameOf(index: number): Frame {
  const width = SIZE.width / SIZE.columns - SIZE.left - SIZE.gap / 2;
  const [column, row] = [index % SIZE.columns, Math.floor(index / SIZE.columns)];
  return {
    x: SIZE.left + column * (SIZE.width / SIZE.columns),
    y: SIZE.top + row * (SIZE.height + SIZE.label + 12) + 18,
    width,
    height: SIZE.height - 18,
  };
}

type Place = {
  readonly frame: Frame;
  /** Seconds of each value. */
  readonly at: readonly number[];
  readonly last: number;
  readonly spans: readonly Span[];
  readonly kills: readonly number[];
};

function panelSvg({ title, curves }: Panel, { frame, at, last, spans, kills }: Place): string {
  const { x, y, width, height } = frame;
  const most = niceTop(Math.max(...curves.flatMap(({ values }) => values.filter((value) => value !== undefined)), 0));
  const across = (seconds: number): string => fixed(x + (Math.min(seconds, last) / last) * width);
  const up = (value: number): string => fixed(y + height - (value / most) * height);
  const shaded = spans
    .filter(({ phase, from }) => phase === "kills" && from / 1_000 < last)
    .map(({ from, to }) => {
      const [left, right] = [across(from / 1_000), across(to / 1_000)];
      return `<rect class="kills" x="${left}" y="${y}" width="${fixed(Number(right) - Number(left))}" height="${height}"/>`;
    });
  const lines = curves.flatMap(({ values }, index) =>
    piecesOf(values, at).map(
      (piece) => `<polyline class="c${index}" points="${piece.map(([s, v]) => `${across(s)},${up(v)}`).join(" ")}"/>`,
    ),
  );
  const marks = kills.map((second) => `<path class="kill" d="M${across(second)} ${y + height - 5}v5"/>`);
  return `<text class="title" x="${x}" y="${y - 6}">${title}</text>
<text class="dim" x="${x - 6}" y="${y + 10}" text-anchor="end">${most}</text><text class="dim" x="${x - 6}" y="${y + height}" text-anchor="end">0</text>
<text class="dim" x="${x + width}" y="${y + height + 15}" text-anchor="end">${Math.round(last / 60)} min</text><text class="dim" x="${x}" y="${y + height + 15}">0</text>
${shaded.join("")}${marks.join("")}<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}"/>${lines.join("")}`;
}

/** Without values a curve is interrupted. */
function piecesOf(
  values: readonly (number | undefined)[],
  at: readonly number[],
): readonly (readonly (readonly [number, number])[])[] {
  const every = Math.max(1, Math.ceil(values.length / MOST_POINTS));
  const pieces: [number, number][][] = [[]];
  for (let index = 0; index < values.length; index += every) {
    const [value, second] = [values[index], at[index]];
    if (value !== undefined && second !== undefined) pieces.at(-1)?.push([second, value]);
    else if (pieces.at(-1)?.length !== 0) pieces.push([]);
  }
  return pieces.filter(({ length }) => length > 1);
}

/** 1, 2 or 5 times a power of ten, or a quarter more. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((top) => top >= value) ?? 10 * power;
}

function legend(): string {
  const items = [
    ...PARTS.map(
      (name, index) =>
        `<rect class="c${index}" x="${16 + index * 100}" y="36" width="14" height="4"/><text x="${36 + index * 100}" y="43">${name}</text>`,
    ),
  ];
  return `${items.join("")}<rect class="kills" x="430" y="32" width="14" height="12"/><text x="450" y="43">parts are killed and upgraded; below, a mark for each kill</text>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** CPU or memory over time, by uPlot: drag to zoom, double click to see all. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { size } from "../../../core/base/quantity.ts";
import type { ChartData, ChartKind } from "./chart-data.ts";
import { ticksIn, tickText, timeTicks } from "./time-ticks.ts";

const HEIGHT = 140;
/** Beside the curves, as in the style sheet, where the time line of the runs begins and ends with them. Pixels. */
const AXIS_LEFT = 64;
const AXIS_RIGHT = 12;
/** Height of the time axis. Pixels. */
const AXIS_BOTTOM = 26;
/** Seconds. */
const MINUTE = 60;
/** In the style sheet. */
const SERIES_COLORS = 6;
const TITLES: Readonly<Record<ChartKind, string>> = {
  cpuPercent: "CPU",
  memoryBytes: "Memory",
  instances: "Instances",
};
/** The scale goes up to this at least. */
const LEAST: Readonly<Record<ChartKind, number>> = { cpuPercent: 1, memoryBytes: 1e6, instances: 2 };
/** Between two lines of the scale. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200];
const stepped = uPlot.paths.stepped?.({ align: 1 });
const STEPS = stepped === undefined ? {} : { paths: stepped };

type MetricChartProps = {
  readonly kind: ChartKind;
  readonly data: ChartData;
  /** Names of the series. */
  readonly names: readonly string[];
  /** Whether the areas of the series are stacked. */
  readonly isStacked: boolean;
  /** Time that is shown, whether or not there are values. Seconds since 1970. */
  readonly range: TimeRange;
  /** When configurations were applied. Seconds since 1970. */
  readonly changes: readonly number[];
  /** Whether the process runs: otherwise there is no present value. */
  readonly isLive: boolean;
};

type TimeRange = { readonly from: number; readonly to: number };

export function MetricChart({ kind, data, names, isStacked, range, changes, isLive }: MetricChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current: element } = place;
    if (element === null || data.times.length < 2) return undefined;
    const draw = (): uPlot =>
      new uPlot(
        optionsFor(kind, { names, isStacked, range, changes, data }, element.clientWidth),
        valuesOf(data),
        element,
      );
    let chart = draw();
    const sized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    // Its canvas has the colors of the moment.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = (): void => {
      chart.destroy();
      chart = draw();
    };
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      sized.disconnect();
      chart.destroy();
    };
  }, [kind, data, names, isStacked, range, changes]);
  return (
    <figure class="chart">
      <figcaption>
        <b>{TITLES[kind]}</b> {peakText(kind, data, isLive)}
        {data.times.length > 1 &&
          changes.some((time) => time >= range.from && time <= range.to) &&
          ", ┆ a configuration was applied"}
      </figcaption>
      {data.times.length < 2 ? (
        <p class="empty">
          {isLive
            ? "The first values appear within seconds."
            : "No values in this period: it didn't run, or not for long."}
        </p>
      ) : (
        <div ref={place} />
      )}
    </figure>
  );
}

/** Largest areas first, so that smaller ones lie on top. */
function valuesOf({ times, series }: ChartData): uPlot.AlignedData {
  return [[...times], ...series.toReversed().map((values) => [...values])];
}

/** "": there is no curve that it could be read from. */
function peakText(kind: ChartKind, { times, series }: ChartData, isLive: boolean): string {
  const values = (series.at(-1) ?? []).filter((value) => value !== null);
  if (times.length < 2 || values.length === 0) return "";
  const [last = 0, peak] = [values.at(-1), Math.max(...values)];
  return `${isLive ? `now ${valueText(kind, last)}, ` : ""}peak ${valueText(kind, peak)}`;
}

function valueText(kind: ChartKind, value: number): string {
  if (kind === "memoryBytes") return size(value);
  return kind === "instances" ? String(value) : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

type DrawnParts = Pick<MetricChartProps, "names" | "isStacked" | "range" | "changes" | "data">;

function optionsFor(
  kind: ChartKind,
  { names, isStacked, range, changes, data: { times } }: DrawnParts,
  width: number,
): uPlot.Options {
  // All of the data stands for the whole range; a part of it was zoomed to.
  const shown = (_: uPlot, from: number, to: number): [number, number] =>
    from === times[0] && to === times.at(-1) ? [range.from, range.to] : [from, to];
  const most = ticksIn(width - AXIS_LEFT - AXIS_RIGHT);
  const { font, color } = look();
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font };
  const series = names.toReversed().map((label, index) => {
    const stroke = color(`--series-${(names.length - 1 - index) % SERIES_COLORS}`);
    const value = (_: uPlot, shown: number | null): string => (shown === null ? "–" : valueText(kind, shown));
    return {
      label,
      stroke,
      width: 1.5,
      fill: transparent(stroke, isStacked ? 0.35 : 0.14),
      points: { show: false },
      ...(kind === "instances" && STEPS),
      value,
    };
  });
  return {
    width,
    height: HEIGHT,
    cursor: { y: false, drag: { x: true, y: false } },
    legend: { show: names.length > 1 },
    padding: [8, AXIS_RIGHT, 0, 0],
    scales: {
      x: { range: shown },
      y: { range: (_, __, top) => [0, Math.max(top * 1.1, LEAST[kind])] },
    },
    axes: [
      {
        ...axis,
        size: AXIS_BOTTOM,
        splits: (_, __, from, to) => [...timeTicks(from, to, most).times],
        values: (_, times) => times.map((time) => tickText(time, (times[1] ?? time + MINUTE) - (times[0] ?? time))),
      },
      {
        ...axis,
        size: AXIS_LEFT,
        values: (_, values) => values.map((value) => valueText(kind, value)),
        ...(kind === "instances" && { incrs: WHOLE }),
      },
    ],
    series: [{}, ...series],
    hooks: { draw: [(chart) => drawChanges(chart, changes, color("--muted"))] },
  };
}

/** A dashed line at each time that is shown. */
function drawChanges({ ctx, bbox, valToPos }: uPlot, times: readonly number[], color: string): void {
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  for (const at of times.map((time) => Math.round(valToPos(time, "x", true)) + 0.5)) {
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.restore();
}

/** A canvas needs colors as they are computed, for the scheme of the moment. */
function look(): { readonly font: string; readonly color: (name: string) => string } {
  const probe = document.body.appendChild(document.createElement("span"));
  const font = `11px ${getComputedStyle(probe).fontFamily}`;
  const colors = new Map<string, string>();
  const color = (name: string): string => colors.get(name) ?? "";
  for (const name of [
    "--muted",
    "--line",
    ...Array.from({ length: SERIES_COLORS }, (_, index) => `--series-${index}`),
  ]) {
    probe.style.color = `var(${name})`;
    colors.set(name, getComputedStyle(probe).color);
  }
  probe.remove();
  return { font, color };
}

/** @example transparent("rgb(1, 2, 3)", 0.5) // "rgb(1, 2, 3, 0.5)" */
function transparent(color: string, alpha: number): string {
  return color.replace(")", `, ${alpha})`);
}

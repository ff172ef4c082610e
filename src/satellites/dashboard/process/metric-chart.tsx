/** CPU or memory over time, by uPlot: drag to zoom, double click to see all. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { size } from "../../../core/base/quantity.ts";
import { hostTime } from "../../../core/base/time-stamp.ts";
import type { ChartData, ChartKind } from "./chart-data.ts";

const HEIGHT = 170;
/** Seconds. */
const DAY = 86_400;
/** In the style sheet. */
const SERIES_COLORS = 6;
const TITLES: Readonly<Record<ChartKind, string>> = { cpuPercent: "CPU", memoryBytes: "Memory" };

type MetricChartProps = {
  readonly kind: ChartKind;
  readonly data: ChartData;
  /** Names of the series. */
  readonly names: readonly string[];
  /** Whether series are areas on each other. */
  readonly isStacked: boolean;
};

export function MetricChart({ kind, data, names, isStacked }: MetricChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current: element } = place;
    if (element === null || data.times.length < 2) return undefined;
    const draw = (): uPlot =>
      new uPlot(optionsFor(kind, names, { isStacked, width: element.clientWidth }), valuesOf(data), element);
    let chart = draw();
    const sized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    // Its canvas has the colours of the moment.
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
  }, [kind, data, names, isStacked]);
  return (
    <figure class="chart">
      <figcaption>
        <b>{TITLES[kind]}</b> {peakText(kind, data)}
      </figcaption>
      {data.times.length < 2 ? <p class="empty">No values in this time yet.</p> : <div ref={place} />}
    </figure>
  );
}

/** Largest areas first, so that smaller ones lie on top. */
function valuesOf({ times, series }: ChartData): uPlot.AlignedData {
  return [[...times], ...series.toReversed().map((values) => [...values])];
}

function peakText(kind: ChartKind, { series }: ChartData): string {
  const values = (series.at(-1) ?? []).filter((value) => value !== null);
  if (values.length === 0) return "";
  const [last = 0, peak] = [values.at(-1), Math.max(...values)];
  return `now ${valueText(kind, last)}, at most ${valueText(kind, peak)}`;
}

function valueText(kind: ChartKind, value: number): string {
  return kind === "memoryBytes" ? size(value) : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

function optionsFor(
  kind: ChartKind,
  names: readonly string[],
  { isStacked, width }: { readonly isStacked: boolean; readonly width: number },
): uPlot.Options {
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
      value,
    };
  });
  return {
    width,
    height: HEIGHT,
    cursor: { y: false, drag: { x: true, y: false } },
    legend: { show: names.length > 1 },
    scales: { y: { range: (_, __, top) => [0, Math.max(top * 1.1, kind === "cpuPercent" ? 1 : 1e6)] } },
    axes: [
      { ...axis, values: (_, times) => times.map((time) => timeText(time, (times[1] ?? time) - (times[0] ?? time))) },
      { ...axis, size: 64, values: (_, values) => values.map((value) => valueText(kind, value)) },
    ],
    series: [{}, ...series],
  };
}

/** As everywhere in procman. `time`: seconds since 1970. `step`: seconds between two of them. */
function timeText(time: number, step: number): string {
  const text = hostTime(time * 1_000);
  return step >= DAY ? text.slice(5, 10) : text.slice(11, step > 0 && step < 60 ? 19 : 16);
}

/** A canvas needs colours as they are computed, for the scheme of the moment. */
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

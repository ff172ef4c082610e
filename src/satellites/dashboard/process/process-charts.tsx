/** The curves of a process, of a cluster by instance. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MetricPoint, ProcessRecord } from "../../../core/contract/records.ts";
import { useApp } from "../parts/app-context.ts";
import { useChanges } from "../parts/use-changes.ts";
import { stackedData } from "./chart-data.ts";
import { MetricChart } from "./metric-chart.tsx";

/** More instances are shown as their sum. */
const MOST_SERIES = 12;
/** Points of a curve. */
const POINTS = 300;
/** Milliseconds. */
const REFRESH_MS = 15_000;

export function ProcessCharts({
  record,
  rangeMs,
}: {
  readonly record: ProcessRecord;
  readonly rangeMs: number;
}): JSX.Element {
  const { id, instances = [], pid, scale } = record;
  const isLive = pid !== undefined || instances.some((each) => each.pid !== undefined);
  const isScaled = scale !== undefined;
  // With those that it had before.
  const isStacked = !isScaled && instances.length > 1 && instances.length <= MOST_SERIES;
  const key = isStacked ? instances.map((each) => each.id).join(",") : id;
  const names = useMemo(() => key.split(","), [key]);
  const step = Math.max(5, Math.round(rangeMs / 1_000 / POINTS));
  const { points, to, problem } = usePoints(names, rangeMs, step);
  const cpu = useMemo(() => stackedData(points, "cpuPercent", step), [points, step]);
  const memory = useMemo(() => stackedData(points, "memoryBytes", step), [points, step]);
  const { entries } = useChanges();
  const changes = useMemo(() => entries.map(({ time }) => Date.parse(time) / 1_000), [entries]);
  const size = useMemo(() => stackedData(isScaled ? points : [], "instances", step), [points, step, isScaled]);
  const range = useMemo(() => ({ from: (to - rangeMs) / 1_000, to: to / 1_000 }), [to, rangeMs]);
  return (
    <section class="charts" aria-label="CPU and memory">
      {problem !== undefined && <p class="problem">{problem}</p>}
      <MetricChart kind="cpuPercent" data={cpu} {...{ names, isStacked, range, changes, isLive }} />
      <MetricChart kind="memoryBytes" data={memory} {...{ names, isStacked, range, changes, isLive }} />
      {isScaled && <MetricChart kind="instances" data={size} {...{ names, isStacked, range, changes, isLive }} />}
    </section>
  );
}

type LoadedPoints = {
  readonly points: readonly (readonly MetricPoint[])[];
  /** End of the time shown. Milliseconds since 1970. */
  readonly to: number;
  readonly problem?: string;
};

function usePoints(names: readonly string[], rangeMs: number, stepSeconds: number): LoadedPoints {
  const { model } = useApp();
  const [loaded, setLoaded] = useState<LoadedPoints>({ points: [], to: model.now() });
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      const to = model.now();
      const query = { from: to - rangeMs, stepSeconds };
      const next = await Promise.all(names.map((name) => model.client.metrics(name, query))).then(
        (points) => ({ points, to }),
        (error: Error) => ({ points: [], to, problem: error.message }),
      );
      if (!isOver) setLoaded(next);
    };
    void load();
    const timer = setInterval(() => !document.hidden && void load(), REFRESH_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [model, names, rangeMs, stepSeconds]);
  return loaded;
}

/** The last hour of CPU or memory as a small curve. It asks for its points when it comes into view. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { HISTORY_MINUTES, type MinutePoint } from "../model/metric-history.ts";
import { useApp } from "./app-context.ts";
import { Icon } from "./icons.tsx";

const WIDTH = 60;
const HEIGHT = 16;

type CurveKind = "cpuPercent" | "memoryBytes";

/** Parts of the path, in which minutes without a point are gaps. */
function curvePath(points: readonly MinutePoint[], kind: CurveKind, now: number): string {
  const first = Math.floor(now / 60_000) - HISTORY_MINUTES;
  const top = Math.max(...points.map((point) => point[kind]), kind === "cpuPercent" ? 1 : 1e6) * 1.05;
  let path = "";
  let last = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    const x = (((point.minute - first) / HISTORY_MINUTES) * WIDTH).toFixed(1);
    if (point.minute >= first)
      path += `${point.minute - last > 2 ? "M" : "L"}${x} ${(HEIGHT - 1 - (point[kind] / top) * (HEIGHT - 2)).toFixed(1)}`;
    if (point.minute >= first) last = point.minute;
  }
  return path;
}

/** The number beside it says what matters, so the curve has no name. In place of one that can't be loaded there is a sign with the reason. */
export function Sparkline({ id, kind }: { readonly id: string; readonly kind: CurveKind }): JSX.Element {
  const { model } = useApp();
  const look = (): Drawing => ({
    path: curvePath(model.history.of(id) ?? [], kind, model.now()),
    problem: model.history.problemOf(id),
  });
  const [{ path, problem }, setDrawing] = useState(look);
  useEffect(() => {
    const draw = (): void => setDrawing(look());
    draw();
    return model.history.listen(id, draw);
  }, [model, id, kind]);
  if (problem !== undefined) return <NoCurve problem={problem} />;
  return (
    <svg class={`sparkline ${kind}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

type Drawing = { readonly path: string; readonly problem: string | undefined };

function NoCurve({ problem }: { readonly problem: string }): JSX.Element {
  const text = `No curve: ${problem}`;
  return (
    <span class="no-curve" role="img" aria-label={text} title={text}>
      <Icon name="gap" />
    </span>
  );
}

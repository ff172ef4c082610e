/** The last hour of CPU or memory as a small curve. It asks for its points when it comes into view. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { HISTORY_MINUTES, type MinutePoint } from "../model/metric-history.ts";
import { useApp } from "./app-context.ts";

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

/** The number beside it says what matters, so it has no name of its own. */
export function Sparkline({ id, kind }: { readonly id: string; readonly kind: CurveKind }): JSX.Element {
  const { model } = useApp();
  const [path, setPath] = useState(() => curvePath(model.history.of(id) ?? [], kind, model.now()));
  useEffect(() => {
    const draw = (): void => setPath(curvePath(model.history.of(id) ?? [], kind, model.now()));
    draw();
    return model.history.listen(id, draw);
  }, [model, id, kind]);
  return (
    <svg class={`sparkline ${kind}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

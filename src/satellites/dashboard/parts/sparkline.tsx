/** CPU or memory of the last hour, or of the life of the process, as a small curve. It asks for its points when it comes into view. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { HISTORY_MINUTES, type MinutePoint } from "../model/metric-history.ts";
import { useApp } from "./app-context.ts";
import { Icon } from "./icons.tsx";

const WIDTH = 60;
const HEIGHT = 16;

type CurveKind = "cpuPercent" | "memoryBytes";

/** Shorter curves say nothing. Minutes. */
const LEAST_MINUTES = 5;
/** Part of the values by which a flat curve is away from either edge. */
const PADDING = 0.15;

/** From the first known minute to now, in the middle of its height; minutes without a point are gaps. "": there is too little to show. */
function curvePath(points: readonly MinutePoint[], kind: CurveKind, now: number): string {
  const last = Math.floor(now / 60_000);
  const shown = points.filter(({ minute }) => minute >= last - HISTORY_MINUTES);
  const first = shown[0]?.minute ?? last;
  const minutes = last - first;
  if (minutes < LEAST_MINUTES) return "";
  const values = shown.map((point) => point[kind]);
  const pad = Math.max(PADDING * Math.max(...values), kind === "cpuPercent" ? 0.5 : 1e6);
  const [low, high] = [Math.min(...values) - pad, Math.max(...values) + pad];
  const parts = shown.map((point, index) => {
    const isJoined = index > 0 && point.minute - (shown[index - 1]?.minute ?? 0) <= 2;
    const x = (((point.minute - first) / minutes) * WIDTH).toFixed(1);
    return `${isJoined ? "L" : "M"}${x} ${(HEIGHT * (1 - (point[kind] - low) / (high - low))).toFixed(1)}`;
  });
  return parts.join("");
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

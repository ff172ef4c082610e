/** Loads for the simulation: made ones, each with one difficulty, and a recorded one. Connections of a whole cluster. */
import { RECORDED_PERCENT, RECORDED_STEP_SECONDS } from "./recorded-load.ts";
import type { LoadCurve } from "./simulation.ts";

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** The same numbers at each call. In [-1, 1]. */
function noise(second: number): number {
  const mixed = Math.imul(second ^ 0x9e3779b9, 0x85ebca6b);
  const more = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((more ^ (more >>> 16)) >>> 0) / 2 ** 31 - 1;
}

function round(from: number, second: number, period: number, to: number): number {
  return from + ((to - from) * (second % period)) / period;
}

export const CURVES: readonly LoadCurve[] = [
  { name: "steady", seconds: 4 * HOUR, at: () => 140 },
  { name: "noise", seconds: 4 * HOUR, at: (second) => 150 + 30 * noise(second) },
  { name: "step", seconds: 2 * HOUR, at: (second) => (second >= 600 && second < 4_000 ? 280 : 50) },
  {
    name: "ramp",
    seconds: 2 * HOUR,
    at: (second) => 40 + 260 * Math.max(0, 1 - Math.abs(second - HOUR) / 1_800),
  },
  { name: "saw, 20 min", seconds: 4 * HOUR, at: (second) => round(40, second, 1_200, 280) },
  { name: "saw, 1 min", seconds: 4 * HOUR, at: (second) => round(40, second, 60, 280) },
  {
    name: "day",
    seconds: 2 * DAY,
    at: (second) => {
      const hour = (second % DAY) / HOUR;
      const sun = Math.max(0, Math.sin(((hour - 6) / 16) * Math.PI));
      return (20 + 260 * sun * (1 - 0.3 * Math.exp(-((hour - 13) ** 2)))) * (1 + 0.1 * noise(second));
    },
  },
  {
    name: "flash crowd",
    seconds: 2 * HOUR,
    at: (second) => {
      const since = second - 900;
      if (since < 0) return 50;
      return since < 30 ? 50 + (since / 30) * 270 : 50 + 270 * Math.exp(-(since - 30) / 600);
    },
  },
  {
    name: "short peaks",
    seconds: 4 * HOUR,
    at: (second) => (second % 300 < 5 ? 300 : 70),
  },
  {
    name: "recorded: a machine that builds",
    seconds: RECORDED_PERCENT.length * RECORDED_STEP_SECONDS,
    at: (second) => 30 + 2.5 * (RECORDED_PERCENT[Math.floor(second / RECORDED_STEP_SECONDS)] ?? 0),
  },
];

/** Where a time axis has its labels: the same for the runs and the curves of a process. Pure. */
import { hostTime } from "../../../core/base/time-stamp.ts";

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const STEPS = [
  1,
  5,
  10,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
];
/** Part of the axis at its end that has no label, which would be cut off. */
const END = 0.05;

export type TimeTicks = { readonly step: number; readonly times: readonly number[] };

/** Width of a label with seconds, and the room beside it. Pixels. */
const LABEL = 76;

/** How many labels fit. Pixels. */
export function ticksIn(width: number): number {
  return Math.max(1, Math.floor(width / LABEL));
}

/** As everywhere in procman. `time`: seconds since 1970. `step`: seconds between two labels. */
export function tickText(time: number, step: number): string {
  const text = hostTime(time * 1_000);
  return step >= DAY ? text.slice(5, 10) : text.slice(11, step < MINUTE ? 19 : 16);
}

/** Round times by the clock of the browser, at most `most`; all in seconds since 1970. */
export function timeTicks(from: number, to: number, most: number): TimeTicks {
  const step =
    STEPS.find((each) => (to - from) / each <= Math.max(1, most)) ?? Math.ceil((to - from) / most / DAY) * DAY;
  const offset = new Date(to * 1_000).getTimezoneOffset() * MINUTE;
  const times: number[] = [];
  for (let time = Math.ceil((from - offset) / step) * step + offset; time <= to - (to - from) * END; time += step)
    times.push(time);
  return { step, times };
}

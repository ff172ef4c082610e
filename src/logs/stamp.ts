/** The time stamp of log lines. Formatted at most once per millisecond: under load thousands of lines share one. */

let lastTime = Number.NaN;
let lastStamp = "";

/** `2026-11-21T10:00:00.000Z` */
export function stamp(time: number): string {
  if (time !== lastTime) {
    lastStamp = new Date(time).toISOString();
    lastTime = time;
  }
  return lastStamp;
}

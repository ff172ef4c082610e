/** The time stamp of log lines. It is formatted at most once a millisecond, since thousands of lines may share it. */

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

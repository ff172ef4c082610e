/** The time stamp of log lines. It is formatted at most once a millisecond, since thousands of lines may share it. */

let lastTime = Number.NaN;
let lastStamp = "";

/** Time of an entry about `at` that is written `now`: not before that of the entry above it, `last`, unless the clock was set back. */
export function entryTime(at: number, last: number, now: number): number {
  return Math.max(at, Math.min(last, now));
}

/** `2026-11-21T10:00:00.000Z` */
export function stamp(time: number): string {
  if (time !== lastTime) {
    lastStamp = new Date(time).toISOString();
    lastTime = time;
  }
  return lastStamp;
}

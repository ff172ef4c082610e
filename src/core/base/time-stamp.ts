/** Times as text: in UTC for programs, as host time with its offset from UTC for people; and the clock of a time zone. */

let lastTime = Number.NaN;
let lastStamp = "";
let lastHostTime = Number.NaN;
let lastHostStamp = "";

/** Time of an entry about `at` that is written `now`: not before that of the entry above it, `last`, unless the clock was set back. */
export function entryTime(at: number, last: number, now: number): number {
  return Math.max(at, Math.min(last, now));
}

/** `2026-11-21T10:00:00.000Z`. Formatted at most once a millisecond, since thousands of lines may share it. */
export function stamp(time: number): string {
  if (time !== lastTime) {
    lastStamp = new Date(time).toISOString();
    lastTime = time;
  }
  return lastStamp;
}

/** `03:00:00`, what a clock in the time zone shows; undefined: this version of Node doesn't know the zone. */
export function clockIn(timeZone: string, time: number): string | undefined {
  try {
    return new Date(time).toLocaleTimeString("en-GB", { timeZone, hourCycle: "h23" });
  } catch {
    return undefined;
  }
}

/** `2026-11-21T11:00:00.000+01:00`, the same in host time; formatted at most once a millisecond, too. */
export function hostStamp(time: number): string {
  if (time !== lastHostTime) {
    lastHostStamp = inHostTime(time, 23);
    lastHostTime = time;
  }
  return lastHostStamp;
}

/** `2026-11-21T11:00:00+01:00`, host time. */
export function hostTime(time: number): string {
  return inHostTime(time, 19);
}

/** `length` of the text before the offset. (`toLocaleString` takes some ms the first time.) */
function inHostTime(time: number, length: number): string {
  const offset = -new Date(time).getTimezoneOffset();
  const text = new Date(time + offset * 60_000).toISOString().slice(0, length);
  if (offset === 0) return `${text}Z`;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${text}${offset < 0 ? "-" : "+"}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
}

const DATE =
  "\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|[12]\\d))";
/** A date, or a date with a time, as ISO 8601 has it. 29 February counts as a day of each year. */
export const ISO_TIME: string = `${DATE}(?:[T ]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z|[+-]\\d\\d:?\\d\\d)?)?`;
const DAY = /^(\d{4})-(\d\d)-(\d\d)/;

/** As `Date.parse`, but NaN for a day that doesn't exist, which is one of the next month there. */
export function existingTime(text: string): number {
  const [, year, month, day] = DAY.exec(text) ?? [];
  const isDay =
    day === undefined || new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return isDay ? Date.parse(text) : Number.NaN;
}

/** A time as people type it, in the time zone of the browser. Pure. */

const TYPED = /^(?:(\d{4})-(\d\d?)-(\d\d?)[T ]+)?(\d\d?):(\d\d)(?::(\d\d))?$/;

/** Milliseconds since 1970; a time without a date is the last such time until `now`. undefined: it is no time. */
export function typedTime(text: string, now: number): number | undefined {
  const [, year, month = "1", day = "1", ...clock] = TYPED.exec(text) ?? [];
  const [hours = Number.NaN, minutes = 0, seconds = 0] = clock.map((part) => Number(part ?? 0));
  if (Number.isNaN(hours) || hours > 23 || minutes > 59 || seconds > 59) return undefined;
  if (year !== undefined) {
    const time = new Date(Number(year), Number(month) - 1, Number(day), hours, minutes, seconds);
    return time.getMonth() === Number(month) - 1 ? time.getTime() : undefined;
  }
  const today = new Date(now);
  today.setHours(hours, minutes, seconds, 0);
  if (today.getTime() > now) today.setDate(today.getDate() - 1);
  return today.getTime();
}

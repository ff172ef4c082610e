/** Times and durations, with the exact time for those who point at them. */
import type { JSX } from "preact";
import { age } from "../../../core/base/quantity.ts";
import { hostTime } from "../../../core/base/time-stamp.ts";

/** `3 h ago`, or `in 5 min`. `now`: milliseconds since 1970. */
export function Moment({ time, now }: { readonly time: string; readonly now: number }): JSX.Element {
  const at = Date.parse(time);
  const text = at > now ? `in ${age(at - now)}` : `${age(now - at)} ago`;
  return (
    <time dateTime={time} title={hostTime(at)}>
      {text}
    </time>
  );
}

/** `14:03:27` in the time zone of the browser; with the day if it isn't today. */
export function clockText(time: number, now: number): string {
  const text = hostTime(time);
  return text.slice(0, 10) === hostTime(now).slice(0, 10)
    ? text.slice(11, 19)
    : `${text.slice(5, 10)} ${text.slice(11, 19)}`;
}

/** Calendar expressions of systemd timers as cron patterns. */
import { ownMember } from "../../core/base/interpolate.ts";

const SHORTHANDS: Readonly<Record<string, string>> = {
  minutely: "* * * * *",
  hourly: "0 * * * *",
  daily: "0 0 * * *",
  weekly: "0 0 * * MON",
  monthly: "0 0 1 * *",
  yearly: "0 0 1 1 *",
  annually: "0 0 1 1 *",
  quarterly: "0 0 1 1,4,7,10 *",
  semiannually: "0 0 1 1,7 *",
};

const DAYS = "(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*";
const EXPRESSION = new RegExp(
  String.raw`^(?:(${DAYS}(?:(?:\.\.|[,-])${DAYS})*)\s*)?(?:(?:([\d*,./]+)-)?([\d*,./]+)-([\d*,./]+))?\s*(?:([\d*,./]+):([\d*,./]+)(?::([\d*,./]+))?)?(?:\s+(\S+))?$`,
  "i",
);

export type CalendarPattern = { readonly pattern: string; readonly timeZone?: string };

/** undefined: what a cron pattern can't express, or no calendar expression. */
export function cronOf(text: string): CalendarPattern | undefined {
  const shorthand = ownMember(SHORTHANDS, text.trim().toLowerCase());
  if (shorthand !== undefined) return { pattern: shorthand };
  const found = EXPRESSION.exec(text.trim());
  if (found === null || found.slice(1, 8).every((part) => part === undefined)) return undefined;
  const [days, year, month, day, hour, minute, second, timeZone] = found.slice(1);
  const [years, months, monthDays] = [year, month, day].map((part) => field(part ?? "*", 1));
  const parts = [
    ...[second, minute, hour].map((part) => field(part ?? "0", 0)),
    monthDays,
    months,
    weekDays(days, monthDays !== "*"),
    years,
  ];
  if (parts.includes(undefined)) return undefined;
  const from = years === "*" && parts[0] === "0" ? 1 : 0;
  return { pattern: parts.slice(from, years === "*" ? 6 : 7).join(" "), ...(timeZone !== undefined && { timeZone }) };
}

/** `1,15`, `1..5`, `0/15`, `*`. Fractions and days from the end of a month are none of cron. */
function field(text: string, least: number): string | undefined {
  const parts = text.split(",").map((part) => item(part, least));
  return parts.includes(undefined) ? undefined : parts.join(",");
}

function item(text: string, least: number): string | undefined {
  const [, first, last, step] = /^(\*|\d+)(?:\.\.(\d+))?(?:\/(\d+))?$/.exec(text) ?? [];
  if (first === undefined) return undefined;
  const every = step === undefined ? "" : `/${Number(step)}`;
  if (first === "*" || (last === undefined && every !== "" && Number(first) === least)) return `*${every}`;
  return last === undefined ? `${Number(first)}${every}` : `${Number(first)}-${Number(last)}${every}`;
}

/** With a day of the month both must hold, which cron writes with a plus sign. */
function weekDays(text: string | undefined, hasMonthDay: boolean): string {
  if (text === undefined) return "*";
  const days = text
    .split(",")
    .map((part) =>
      part
        .split(/\.\.|-/)
        .map((day) => day.slice(0, 3).toUpperCase())
        .join("-"),
    )
    .join(",");
  return hasMonthDay ? `+${days}` : days;
}

const SPAN_UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(us|usec|µs)$/, 1e-6],
  [/^(ms|msec)$/, 0.001],
  [/^(|s|sec|second|seconds)$/, 1],
  [/^(m|min|minute|minutes)$/, 60],
  [/^(h|hr|hour|hours)$/, 3_600],
  [/^(d|day|days)$/, 86_400],
  [/^(w|week|weeks)$/, 604_800],
];

/** Seconds of a time span such as `1min 30s`; Infinity for `infinity`; undefined for anything else. */
export function spanOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  if (text.trim() === "infinity") return Number.POSITIVE_INFINITY;
  let sum = 0;
  for (const part of text.trim().matchAll(/(\d+(?:\.\d+)?)\s*([a-zµ]*)\s*|([\s\S])/gi)) {
    const [, number, unit = "", stray] = part;
    const factor = SPAN_UNITS.find(([pattern]) => pattern.test(unit))?.[1];
    if (stray !== undefined || factor === undefined) return undefined;
    sum += Number(number) * factor;
  }
  return Math.round(sum * 1_000) / 1_000;
}

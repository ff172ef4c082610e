/** Cron patterns as sets of numbers, for targets with another notation. */
import { CRON_NICKNAMES } from "../../core/base/cron-nicknames.ts";

/** Values of a field, in order; absent: all. */
type Values = readonly number[] | undefined;

export type CronFields = {
  readonly second: Values;
  readonly minute: Values;
  readonly hour: Values;
  readonly day: Values;
  /** `L`: the last day of the month. */
  readonly isLastDay: boolean;
  readonly month: Values;
  /** 0 is Sunday. */
  readonly weekday: Values;
  /** The nth of these weekdays in a month, from 1; "last". */
  readonly nth?: number | "last";
  readonly year: Values;
};

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const LAST_YEAR = 2_099;
const FIRST_YEAR = 1_970;

class Unknown extends Error {}

/** @returns undefined for a pattern with something beyond lists, ranges, steps, names, `L` and `#`, as `15W` */
export function cronFields(pattern: string): CronFields | undefined {
  try {
    return fieldsOf(CRON_NICKNAMES[pattern.trim().toLowerCase()] ?? pattern);
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
}

function fieldsOf(pattern: string): CronFields {
  const parts = pattern.trim().toLowerCase().split(/\s+/);
  const [second = "0", minute = "*", hour = "*", day = "*", month = "*", weekday = "*", year = "*"] =
    parts.length === 5 ? ["0", ...parts] : parts;
  // FRI#2: the second Friday; FRI#L and 5L: the last.
  const [, days = weekday, nth] = /^([^#,]*?)#?([1-5]|l)$/.exec(/[#l]/.test(weekday) ? weekday : "") ?? [];
  const weekdays = valuesOf(days, { first: 0, last: 7, names: WEEKDAYS });
  return {
    second: valuesOf(second, { first: 0, last: 59 }),
    minute: valuesOf(minute, { first: 0, last: 59 }),
    hour: valuesOf(hour, { first: 0, last: 23 }),
    day: day === "l" ? undefined : valuesOf(day, { first: 1, last: 31 }),
    isLastDay: day === "l",
    month: valuesOf(month, { first: 1, last: 12, names: MONTHS }),
    weekday: weekdays === undefined ? undefined : inOrder(weekdays.map((value) => value % 7)),
    ...(nth !== undefined && { nth: nth === "l" ? ("last" as const) : Number(nth) }),
    year: valuesOf(year, { first: FIRST_YEAR, last: LAST_YEAR }),
  };
}

type Range = { readonly first: number; readonly last: number; readonly names?: readonly string[] };

function valuesOf(text: string, range: Range): Values {
  if (text === "*" || text === "?") return undefined;
  return inOrder(text.split(",").flatMap((item) => itemOf(item, range)));
}

function itemOf(item: string, { first, last, names = [] }: Range): readonly number[] {
  const [, from = "", to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(item) ?? [];
  const number = (word: string): number => {
    const named = names.indexOf(word);
    if (named === -1 && !/^\d+$/.test(word)) throw new Unknown();
    return named === -1 ? Number(word) : named + (first === 1 ? 1 : 0);
  };
  // 7 is Sunday only where it is written.
  const highest = names === WEEKDAYS ? 6 : last;
  const start = from === "*" ? first : number(from);
  const end = to === undefined ? (from === "*" || step !== undefined ? highest : start) : number(to);
  return Array.from(
    { length: Math.floor((end - start) / Number(step ?? 1)) + 1 },
    (_, index) => start + index * Number(step ?? 1),
  );
}

function inOrder(values: readonly number[]): readonly number[] {
  return [...new Set(values)].sort((one, other) => one - other);
}

/** Whether it starts at most once a minute. */
function isOfMinutes({ second }: CronFields): boolean {
  return second?.length === 1 && second[0] === 0;
}

/** The five fields of cron, in numbers; undefined: they can't say it. */
export function fiveFields(fields: CronFields): string | undefined {
  const { minute, hour, day, isLastDay, month, weekday, nth, year } = fields;
  if (!isOfMinutes(fields) || isLastDay || nth !== undefined || year !== undefined) return undefined;
  return [minute, hour, day, month, weekday].map(listText).join(" ");
}

/** Five fields where they are enough; else seven, with seconds in front and the year behind, as Nomad reads them. */
export function longFields(fields: CronFields): string {
  const { second, minute, hour, day, isLastDay, month, weekday, nth, year } = fields;
  const days =
    weekday !== undefined && nth !== undefined
      ? weekday.map((each) => (nth === "last" ? `${each}L` : `${each}#${nth}`)).join(",")
      : listText(weekday);
  const middle = [minute, hour].map(listText);
  const dates = [isLastDay ? "L" : listText(day), listText(month), days];
  return isOfMinutes(fields) && year === undefined
    ? [...middle, ...dates].join(" ")
    : [listText(second), ...middle, ...dates, listText(year)].join(" ");
}

/** `*`, or a list in which neighbours are a range. */
function listText(values: Values): string {
  return values === undefined
    ? "*"
    : ranges(values)
        .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
        .join(",");
}

function ranges(values: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const found: [number, number][] = [];
  for (const value of values) {
    const current = found.at(-1);
    if (current !== undefined && value === current[1] + 1) current[1] = value;
    else found.push([value, value]);
  }
  return found;
}

/**
 * Expressions for `OnCalendar=` of systemd, which together have the times of the pattern: cron's days of the month and
 * of the week are alternatives, those of systemd conditions.
 *
 * @example calendarExpressions(cronFields("0 3 * * 1-5"), "Europe/Berlin") // ["Mon..Fri *-*-* 03:00:00 Europe/Berlin"]
 */
export function calendarExpressions(fields: CronFields, timeZone: string | undefined): readonly string[] {
  const { second, minute, hour, day, isLastDay, weekday } = fields;
  const time = [hour, minute, second].map((values) => calendarList(values, 2)).join(":");
  const dates = [
    ...(day !== undefined || isLastDay ? [dateOf(fields, isLastDay ? "~01" : `-${calendarList(day, 2)}`)] : []),
    ...(weekday === undefined ? [] : [`${weekdaysOf(weekday)} ${dateOf(fields, nthDays(fields))}`]),
  ];
  return (dates.length === 0 ? [dateOf(fields, "-*")] : dates).map((date) =>
    [date, time, ...(timeZone === undefined ? [] : [timeZone])].join(" "),
  );
}

function dateOf({ year, month }: CronFields, day: string): string {
  return `${calendarList(year, 4)}-${calendarList(month, 2)}${day}`;
}

/** The days of a month in which its nth week of seven days lies. */
function nthDays({ nth }: CronFields): string {
  if (nth === undefined) return "-*";
  if (nth === "last") return "~07/1";
  return `-${calendarList(
    Array.from({ length: Math.min(7, 31 - (nth - 1) * 7) }, (_, index) => (nth - 1) * 7 + index + 1),
    2,
  )}`;
}

function calendarList(values: Values, digits: number): string {
  const padded = (value: number): string => String(value).padStart(digits, "0");
  return values === undefined
    ? "*"
    : ranges(values)
        .map(([from, to]) => (from === to ? padded(from) : `${padded(from)}..${padded(to)}`))
        .join(",");
}

function weekdaysOf(values: readonly number[]): string {
  const nameOf = (value: number): string => `${WEEKDAYS[value]?.charAt(0).toUpperCase()}${WEEKDAYS[value]?.slice(1)}`;
  return ranges(values.map((value) => (value + 6) % 7).sort((one, other) => one - other))
    .map(([from, to]) => (from === to ? nameOf((from + 1) % 7) : `${nameOf((from + 1) % 7)}..${nameOf((to + 1) % 7)}`))
    .join(",");
}

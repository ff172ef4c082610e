/** Cron patterns: croner's errors as messages. */
import { suggest } from "../../base/suggest.ts";
import { isTimeZone, nextTime, type Schedule } from "../../supervisor/schedule.ts";

/** Name and range of each field; `shift`: how far the value in croner's messages lies below the value in the pattern. */
const FIELDS: Readonly<Record<string, { readonly words: string; readonly range: string; readonly shift: number }>> = {
  second: { words: "second", range: "0-59", shift: 0 },
  minute: { words: "minute", range: "0-59", shift: 0 },
  hour: { words: "hour", range: "0-23", shift: 0 },
  day: { words: "day of the month", range: "1-31", shift: 1 },
  month: { words: "month", range: "1-12", shift: 1 },
  dayOfWeek: { words: "day of the week", range: "0-7", shift: 0 },
};

/** Why a pattern can't be used; undefined: it can. A sentence without "Found". */
export function cronProblem(pattern: string, now: Date): string | undefined {
  if (/^\s*@reboot\s*$/i.test(pattern))
    return '"@reboot" is not a time; to start with procman, set "autostart" to true.';
  if (/^\s*\d{4}-\d\d/.test(pattern))
    return "This is a date; a cron pattern has five fields, six with seconds in front, or seven with the year behind them.";
  const [, step = "1", unit] = /^\s*every (?:(\d+) )?(minute|hour|day)s?\s*$/i.exec(pattern) ?? [];
  if (unit !== undefined && Number(step) <= 23)
    return `Write ${JSON.stringify(everyPattern(step, unit.toLowerCase()))}.`;
  try {
    return nextTime({ pattern }, now.getTime()) === undefined
      ? "It has no time in the future: such a day never comes."
      : undefined;
  } catch (error) {
    return describe(error instanceof Error ? error.message : String(error));
  }
}

function everyPattern(step: string, unit: string): string {
  const field = step === "1" ? "*" : `*/${step}`;
  if (unit === "minute") return `${field} * * * *`;
  return unit === "hour" ? `0 ${field} * * *` : `0 0 ${field} * *`;
}

/** The next time of a schedule after `from`. */
export function nextRun(schedule: Schedule, from: Date): Date | undefined {
  const next = nextTime(schedule, from.getTime());
  return next === undefined ? undefined : new Date(next);
}

/** Why there is no such time zone; undefined: there is. Sentences without "Found". */
export function timeZoneProblem(name: string): string | undefined {
  // Offsets are understood by Node 22 and later only, and know no daylight saving.
  if (!/^[+-]/.test(name) && isTimeZone(name)) return undefined;
  const zones: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const word = name.toLowerCase().replaceAll(" ", "_");
  const near = zones.find((zone) => zone.toLowerCase().endsWith(`/${word}`)) ?? suggest(word, zones);
  return `There is no such time zone.${near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`}`;
}

function describe(message: string): string {
  const reason = message.replace(/^CronPattern: /, "");
  const [, name = "", value = ""] = /^Invalid value for (\w+): (-?\d+)/.exec(reason) ?? [];
  const field = FIELDS[name];
  if (field !== undefined) return `The ${field.words} ${Number(value) + field.shift} is out of range (${field.range}).`;
  if (reason.startsWith("invalid configuration format"))
    return 'It needs five fields (minute, hour, day of the month, month, day of the week), six with seconds in front, or seven with the year behind them. "*/5 * * * *" is every five minutes.';
  const [, entry = "", text = ""] =
    /^configuration entry (\d+) \((.*)\) contains illegal characters/.exec(reason) ?? [];
  if (entry !== "") return `Field ${entry} has characters that are not allowed: ${JSON.stringify(text)}.`;
  return `The pattern is not valid: ${reason.replace(/\.$/, "")}.`;
}

/** Points in time as people give them: `10m`, `yesterday`, `14:30`, `2026-11-21`, ISO 8601. */
import { ProcmanError } from "../base/errors.ts";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Milliseconds since 1970. Without a zone the time is that of the host.
 *
 * @throws {ProcmanError} `usage`
 *
 * @example
 * timeOf("--since", "1h30m", now)   // ninety minutes ago
 */
export function timeOf(option: string, text: string, now: number): number {
  const given = text.trim();
  const time = ago(given, now) ?? dayOf(given, now) ?? clockOf(given, now) ?? dateOf(given);
  if (time !== undefined && !Number.isNaN(time)) return time;
  throw new ProcmanError(
    "usage",
    `Cannot read ${option} ${JSON.stringify(text)}: it is no time; allowed are 10m (also s, h, d, w, and 1h30m), today, yesterday, 14:30, 2026-01-31, "2026-01-31 14:30" and ISO 8601`,
  );
}

/** So long before now. */
function ago(text: string, now: number): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?\s*[smhdw]\s*)+(?:ago)?$/.test(text)) return undefined;
  const spans = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([smhdw])/g)];
  return now - spans.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}

/** Its beginning. */
function dayOf(text: string, now: number): number | undefined {
  const day = new Date(now);
  if (text === "now") return now;
  if (text === "today") return day.setHours(0, 0, 0, 0);
  if (text !== "yesterday") return undefined;
  // Not 24 hours: a day of the change to summer time has 23.
  day.setDate(day.getDate() - 1);
  return day.setHours(0, 0, 0, 0);
}

/** Of today. */
function clockOf(text: string, now: number): number | undefined {
  const [, hours, minutes, seconds = "0"] = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return new Date(now).setHours(Number(hours), Number(minutes), Number(seconds), 0);
}

function dateOf(text: string): number | undefined {
  const [, year, month, day, rest = ""] = /^(\d{4})-(\d\d)-(\d\d)(.*)$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  // Date.parse goes over to March on the 30th of February, and takes a date alone for UTC.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const isTime = /^(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(rest);
  if (!isDay || !isTime) return undefined;
  return Date.parse(`${year}-${month}-${day}${rest === "" ? "T00:00" : rest.replace(" ", "T").replace(",", ".")}`);
}

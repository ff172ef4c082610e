/** Formats values for the terminal: colors, results of actions, times and sizes. Colors are only for terminals without NO_COLOR (no-color.org). */
import { ProcmanError } from "../../core/base/errors.ts";
import { printableLine } from "../../core/base/printable.ts";
import { clockIn, hostTime } from "../../core/base/time-stamp.ts";
import type { ProcessRecord, Status } from "../../core/contract/records.ts";
import { isImpaired } from "../../core/contract/status-sets.ts";
import { type OutputStream, wantsColors } from "../../core/os/colors.ts";

export type Painter = (code: number, text: string) => string;

export function painterFor(stream: OutputStream, isEnabled = true): Painter {
  return isEnabled && wantsColors(stream) ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_, text) => text;
}

const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const DIM = 2;

const STATUS: Readonly<Record<Status, number>> = {
  running: GREEN,
  starting: YELLOW,
  waiting: YELLOW,
  skipped: RED,
  stopping: YELLOW,
  backoff: YELLOW,
  mixed: YELLOW,
  errored: RED,
  exhausted: RED,
  created: DIM,
  stopped: DIM,
  asleep: DIM,
  finished: DIM,
};

/** What runs is green only when it is ready and healthy; a cluster, when one of its instances is. */
export function colorOf(record: Pick<ProcessRecord, "status" | "ready" | "healthy">): number {
  return isImpaired(record) ? YELLOW : STATUS[record.status];
}

/** The resulting state of a process, in one line. */
export function outcomeOf({ status, blocked, disabled, pid, reason }: ProcessRecord): string {
  const state = [status, ...(blocked ? ["blocked"] : []), ...(disabled ? ["disabled"] : [])].join(", ");
  const why = pid === undefined ? reason.replace(/^was stopped(?: \((\w+)\)|; it |$)/, "$1") : `pid ${pid}`;
  return why === "" ? state : `${state} (${printableLine(why)})`;
}

/** Units of relative times. */
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Parses a time: `10m`, `yesterday`, `14:30`, `2026-11-21` or ISO 8601. Returns milliseconds since 1970. Times without
 * a zone are in the host's time zone.
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
    `Cannot read ${option} ${JSON.stringify(text)}: it is not a time; use 10m (or s, h, d, w, and 1h30m), today, yesterday, 14:30, 2026-01-31, "2026-01-31 14:30" and ISO 8601`,
  );
}

/** A time before now. */
function ago(text: string, now: number): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?\s*[smhdw]\s*)+(?:ago)?$/.test(text)) return undefined;
  const spans = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([smhdw])\s*/gy)];
  return now - spans.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}

/** The beginning of a day. */
function dayOf(text: string, now: number): number | undefined {
  const day = new Date(now);
  if (text === "now") return now;
  if (text === "today") return day.setHours(0, 0, 0, 0);
  if (text !== "yesterday") return undefined;
  // Not 24 hours: the day on which daylight saving time begins has 23.
  day.setDate(day.getDate() - 1);
  return day.setHours(0, 0, 0, 0);
}

/** A time of today. */
function clockOf(text: string, now: number): number | undefined {
  const [, hours, minutes, seconds = "0"] = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return new Date(now).setHours(Number(hours), Number(minutes), Number(seconds), 0);
}

function dateOf(text: string): number | undefined {
  const [, year, month, day, rest = ""] = /^(\d{4})-(\d\d)-(\d\d)(.*)$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  // Date.parse turns 30 February into March, and takes a date without time for UTC.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const isTime = /^(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(rest);
  if (!isDay || !isTime) return undefined;
  return Date.parse(`${year}-${month}-${day}${rest === "" ? "T00:00" : rest.replace(" ", "T").replace(",", ".")}`);
}

/** Host time, followed by the time in `timeZone` if the clock there shows another: `2026-11-22T21:00:00-05:00 (03:00:00 in Europe/Berlin)`. */
export function inZones(time: Date, timeZone: string | undefined): string {
  const here = hostTime(time.getTime());
  const clock = timeZone === undefined ? undefined : clockIn(timeZone, time.getTime());
  return clock === undefined || here.includes(`T${clock}`) ? here : `${here} (${clock} in ${timeZone})`;
}

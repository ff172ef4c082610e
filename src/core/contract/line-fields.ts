/** What a line of the log says of itself, for people: the message and the other members of a line of JSON, the level of a text. Pure. */
import { severityNamed } from "./levels.ts";
import type { Severity } from "./records.ts";

/** Longer lines aren't read as JSON. Characters. */
const LIMIT = 20_000;

export type LineFields = {
  /** Its level is a member that isn't among `rest`. */
  readonly hasLevel: boolean;
  readonly message: string;
  /** The other members, but for the time, which the line has already. */
  readonly rest: readonly (readonly [name: string, value: string])[];
};

const LEVEL_KEYS = ["level", "severity", "lvl", "log.level", "levelname", "LogLevel", "@l"];
const MESSAGE_KEYS = ["msg", "message", "event", "short_message", "@mt", "@m"];
const TIME_KEYS = ["time", "timestamp", "ts", "@timestamp", "asctime", "@t"];
/** A level as a separate word at the beginning of a line, behind a time at most. */
const LEADING_LEVEL = /^[\d\s:.,TZ+[\]()|-]{0,40}\[?(trace|debug|info|notice|warn|warning|error|fatal|critical)\b/i;

/** undefined: it is no object of JSON with a level or a message. */
export function fieldsOf(text: string): LineFields | undefined {
  if (text.length > LIMIT || !text.startsWith("{") || !text.trimEnd().endsWith("}")) return undefined;
  try {
    return fieldsIn(JSON.parse(text) as Readonly<Record<string, unknown>>);
  } catch {
    // It only looks like JSON, or is too deep to be written again.
    return undefined;
  }
}

function fieldsIn(value: Readonly<Record<string, unknown>>): LineFields | undefined {
  const levelKey = LEVEL_KEYS.find((key) => Object.hasOwn(value, key) && isLevel(value[key]));
  const messageKey = MESSAGE_KEYS.find((key) => typeof value[key] === "string");
  if (levelKey === undefined && messageKey === undefined) return undefined;
  const left = new Set([levelKey, messageKey, ...TIME_KEYS]);
  return {
    hasLevel: levelKey !== undefined,
    message: messageKey === undefined ? "" : String(value[messageKey]),
    rest: Object.entries(value).flatMap(([name, member]) =>
      left.has(name) ? [] : [[name, typeof member === "string" ? member : JSON.stringify(member)] as const],
    ),
  };
}

/** The level that a line of text begins with. */
export function leadingLevel(text: string): Severity | undefined {
  const [, word] = LEADING_LEVEL.exec(text.slice(0, 60)) ?? [];
  return word === undefined ? undefined : severityNamed(word);
}

function isLevel(value: unknown): boolean {
  return (typeof value === "string" || typeof value === "number") && severityNamed(String(value)) !== undefined;
}

/** What a line of the log says of itself: its level, and the members of a line of JSON. Pure. */
import type { Severity } from "../../../core/contract/records.ts";

/** Longer lines aren't read as JSON. Characters. */
const LIMIT = 20_000;

export type LineFields = {
  readonly level: Severity | undefined;
  readonly message: string;
  /** The other members, but for the time, which the line has already. */
  readonly rest: readonly (readonly [name: string, value: string])[];
};

const LEVELS: readonly (readonly [RegExp, Severity])[] = [
  [/^(?:trace|debug|verbose|silly|10|20)$/i, "debug"],
  [/^(?:info|information|notice|log|30)$/i, "info"],
  [/^(?:warn|warning|40)$/i, "warn"],
  [/^(?:error|err|fatal|critical|crit|alert|emerg|panic|50|60)$/i, "error"],
];
const LEVEL_KEYS = ["level", "severity", "lvl", "levelname"];
const MESSAGE_KEYS = ["msg", "message", "event"];
const TIME_KEYS = ["time", "timestamp", "ts", "@timestamp"];
/** A level as a word of its own at the beginning of a line, behind a time at most. */
const LEADING_LEVEL = /^[\d\s:.,TZ+[\]()|-]{0,40}\[?(trace|debug|info|notice|warn|warning|error|fatal|critical)\b/i;

/** undefined: it is no object of JSON with a level or a message. */
export function fieldsOf(text: string): LineFields | undefined {
  if (text.length > LIMIT || !text.startsWith("{") || !text.trimEnd().endsWith("}")) return undefined;
  const value = objectIn(text);
  if (value === undefined) return undefined;
  const levelKey = LEVEL_KEYS.find((key) => Object.hasOwn(value, key));
  const messageKey = MESSAGE_KEYS.find((key) => typeof value[key] === "string");
  if (levelKey === undefined && messageKey === undefined) return undefined;
  const left = new Set([levelKey, messageKey, ...TIME_KEYS]);
  return {
    level: levelKey === undefined ? undefined : severityOf(String(value[levelKey])),
    message: messageKey === undefined ? "" : String(value[messageKey]),
    rest: Object.entries(value).flatMap(([name, member]) =>
      left.has(name) ? [] : [[name, typeof member === "string" ? member : JSON.stringify(member)] as const],
    ),
  };
}

/** The level that a line of text begins with. */
export function leadingLevel(text: string): Severity | undefined {
  const [, word] = LEADING_LEVEL.exec(text.slice(0, 60)) ?? [];
  return word === undefined ? undefined : severityOf(word);
}

function severityOf(word: string): Severity | undefined {
  return LEVELS.find(([pattern]) => pattern.test(word))?.[1];
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    // It only looks like JSON.
    return undefined;
  }
}

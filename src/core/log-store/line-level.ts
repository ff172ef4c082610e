/**
 * The level that a line says: by a member of its JSON object, or by the prefix `<N>` of systemd. Reads bytes one after
 * another and parses nothing else, so the depth of the JSON, broken UTF-8 and a missing end don't matter.
 */
import { LEVEL_NAMES, LONGEST_NAME, severityNumbered } from "../contract/levels.ts";
import { SEVERITIES, type Severity } from "../contract/records.ts";

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const [OPEN_ANGLE, CLOSE_ANGLE, BLANK, ZERO, NINE, PLUS, MINUS] = [0x3c, 0x3e, 0x20, 0x30, 0x39, 0x2b, 0x2d];
/** Makes a letter lower case. */
const LOWER = 0x20;
const BEFORE_A = 0x60;
const LETTERS = 26;
/** Facility and severity of syslog together. */
const LAST_PRIORITY = 191;
const MAX_DIGITS = 4;

const KEYS: readonly Uint8Array[] = ["level", "severity", "lvl", "log.level", "levelname", "loglevel", "@l"].map(
  (key) => Buffer.from(key).map((byte) => byte | LOWER),
);
/** Its members may have the level (ECS): `"log":{"level":"error"}`. */
const PARENT: Uint8Array = Buffer.from("log");

/** A name as a number: each has another one. */
function codeOf(name: string): number {
  return [...Buffer.from(name)].reduce((code, letter) => code * (LETTERS + 1) + letter - BEFORE_A, 0);
}

const LEVEL_OF: ReadonlyMap<number, number> = new Map(
  SEVERITIES.flatMap((severity, level) => LEVEL_NAMES[severity].map((name) => [codeOf(name), level] as const)),
);

/** Whether a line that begins with this byte may say its level. */
export function mayBegin(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_ANGLE;
}

/** Index in `SEVERITIES` of the level that the line from `start` to `end` says; -1: it says none. */
export function levelOf(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] === OPEN_BRACE) return levelInObject(bytes, start + 1, end, true);
  return bytes[start] === OPEN_ANGLE ? levelOfPriority(bytes, start + 1, end) : -1;
}

/** `<4>` of sd-daemon(3). */
function levelOfPriority(bytes: Buffer, start: number, end: number): number {
  const digitsEnd = endOfDigits(bytes, start, end);
  if (digitsEnd === start || bytes[digitsEnd] !== CLOSE_ANGLE) return -1;
  const priority = numberIn(bytes, start, digitsEnd);
  return priority > LAST_PRIORITY ? -1 : indexOf(severityNumbered(priority & 7));
}

/** The first member with the name of a level that has a known value. `start`: behind the brace. */
function levelInObject(bytes: Buffer, start: number, end: number, isOutermost: boolean): number {
  for (let at = start; ; at += 1) {
    const key = endOfBlanks(bytes, at, end) + 1;
    if (bytes[key - 1] !== QUOTE) return -1;
    const keyEnd = endOfString(bytes, key, end);
    const colon = endOfBlanks(bytes, keyEnd + 1, end);
    if (bytes[colon] !== COLON) return -1;
    const value = endOfBlanks(bytes, colon + 1, end);
    const level = levelOfMember(bytes, { key, keyEnd, value, end }, isOutermost);
    if (level !== -1) return level;
    at = endOfValue(bytes, value, end);
    if (bytes[at] !== COMMA) return -1;
  }
}

type Member = { readonly key: number; readonly keyEnd: number; readonly value: number; readonly end: number };

function levelOfMember(bytes: Buffer, { key, keyEnd, value, end }: Member, isOutermost: boolean): number {
  const first = bytes[value] as number;
  if (first === OPEN_BRACE)
    return isOutermost && isText(bytes, key, keyEnd, PARENT) ? levelInObject(bytes, value + 1, end, false) : -1;
  if (!KEYS.some((each) => isText(bytes, key, keyEnd, each))) return -1;
  if (first === QUOTE) return levelOfName(bytes, value + 1, endOfString(bytes, value + 1, end));
  const digitsEnd = endOfDigits(bytes, value, end);
  const next = bytes[digitsEnd] as number;
  const isWhole = digitsEnd === end || next === COMMA || next === CLOSE_BRACE || next <= BLANK;
  return isWhole ? levelOfDigits(bytes, value, digitsEnd) : -1;
}

function levelOfName(bytes: Buffer, start: number, end: number): number {
  const digitsEnd = endOfDigits(bytes, start, end);
  if (digitsEnd > start) return digitsEnd === end ? levelOfDigits(bytes, start, end) : -1;
  let code = 0;
  let at = start;
  for (; at < end && at - start <= LONGEST_NAME; at += 1) {
    const letter = ((bytes[at] as number) | LOWER) - BEFORE_A;
    if (letter < 1 || letter > LETTERS) break;
    code = code * (LETTERS + 1) + letter;
  }
  // slog's "INFO+2".
  const isBetween = bytes[at] === PLUS || bytes[at] === MINUS;
  if (at < end && !(isBetween && endOfDigits(bytes, at + 1, end) === end)) return -1;
  return LEVEL_OF.get(code) ?? -1;
}

function levelOfDigits(bytes: Buffer, start: number, end: number): number {
  return start === end || end - start > MAX_DIGITS ? -1 : indexOf(severityNumbered(numberIn(bytes, start, end)));
}

function indexOf(severity: Severity | undefined): number {
  return severity === undefined ? -1 : SEVERITIES.indexOf(severity);
}

function isText(bytes: Buffer, start: number, end: number, text: Uint8Array): boolean {
  if (end - start !== text.length) return false;
  for (let at = 0; at < text.length; at += 1) if (((bytes[start + at] as number) | LOWER) !== text[at]) return false;
  return true;
}

function numberIn(bytes: Buffer, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 10 + (bytes[at] as number) - ZERO;
  return number;
}

function endOfDigits(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at += 1;
  return at;
}

/** Where the next character that is no blank stands. */
export function endOfBlanks(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) <= BLANK) at += 1;
  return at;
}

/** The quote that ends the string whose first character is at `start`. */
function endOfString(bytes: Buffer, start: number, end: number): number {
  let at = start;
  for (; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return end;
}

/** The comma behind the value, or the brace behind the last one. */
function endOfValue(bytes: Buffer, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at + 1, end);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACE)) return at;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
  }
  return end;
}

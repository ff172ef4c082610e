/**
 * Text of others for terminals: control characters (C0, C1 and DEL) are shown like `\x1b`, and those that change the
 * direction of text like `\u202e`, so that text neither moves the cursor nor looks like something else. Tabs stay.
 */

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const COLORS_AND_CONTROLS =
  /\x1b\[[\d;:]*m|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
/** The same in UTF-8 bytes as a latin1 string. */
const COLORS_AND_CONTROL_BYTES =
  /\x1b\[[\d;:]*m|[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])|\xef\xbb\xbf/g;
const ANY_CONTROL_BYTE =
  /[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])|\xef\xbb\xbf/;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** What `JSON.stringify` leaves as it is. */
const UNESCAPED = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Line ends stay. @example printable("a\u001b[2J") // "a\\x1b[2J" */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** One line. @example printableLine("a\nb") // "a\\x0ab" */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", "\\x0a");
}

/** Output of a program: colors (SGR sequences) stay, or are left out; so is a carriage return at the end of a line. */
export function printableOutput(text: string, colors: boolean): string {
  return text.replace(/(?<!\r)\r+(?=\n|$)/g, "").replace(COLORS_AND_CONTROLS, (found) => shown(found, colors));
}

/** The same for bytes in UTF-8 that were read as latin1, so that other bytes stay as they are. */
export function printableBytes(lines: string, colors: boolean): string {
  if (!ANY_CONTROL_BYTE.test(lines)) return lines;
  return lines.replace(/(?<!\r)\r+(?=\n)/g, "").replace(COLORS_AND_CONTROL_BYTES, (found) => shown(found, colors));
}

/** The same JSON as of `JSON.stringify`, in which no character acts on a terminal. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(UNESCAPED, (found) => `\\u${hex(found)}`);
}

function shown(found: string, colors: boolean): string {
  if (found.length > 2 && found.startsWith("\x1b")) return colors ? found : "";
  return escaped(found.length > 1 ? UTF8.decode(Uint8Array.from(found, (byte) => byte.charCodeAt(0))) : found);
}

const CONTROL_ESCAPES = Array.from({ length: 0xa0 }, (_, code) => `\\x${code.toString(16).padStart(2, "0")}`);

function escaped(found: string): string {
  return CONTROL_ESCAPES[found.charCodeAt(0)] ?? `\\u${hex(found)}`;
}

function hex(found: string): string {
  return found.charCodeAt(0).toString(16).padStart(4, "0");
}

/**
 * Text of others for terminals: control characters (C0, C1 and DEL) are shown like `\x1b`, so that text neither moves the
 * cursor nor looks like another line. Tabs stay.
 */

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
const COLORS_AND_CONTROLS = /\x1b\[[\d;:]*m|[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
/** The same in UTF-8 bytes as a latin1 string: C1 follows 0xC2. */
const COLORS_AND_CONTROL_BYTES = /\x1b\[[\d;:]*m|[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/g;
const ANY_CONTROL_BYTE = /[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/;

/** Line ends stay. @example printable("a\u001b[2J") // "a\\x1b[2J" */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** One line. @example printableLine("a\nb") // "a\\x0ab" */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", "\\x0a");
}

/** Output of a program: colours (SGR sequences) stay, or are left out; so is a carriage return at the end of a line. */
export function printableOutput(text: string, colors: boolean): string {
  return text.replace(/\r+(?=\n|$)/g, "").replace(COLORS_AND_CONTROLS, (found) => shown(found, colors));
}

/** The same for bytes in UTF-8 that were read as latin1, so that other bytes stay as they are. */
export function printableBytes(lines: string, colors: boolean): string {
  if (!ANY_CONTROL_BYTE.test(lines)) return lines;
  return lines.replace(/\r+(?=\n)/g, "").replace(COLORS_AND_CONTROL_BYTES, (found) => shown(found, colors));
}

function shown(found: string, colors: boolean): string {
  return found.length > 2 ? (colors ? found : "") : escaped(found);
}

function escaped(found: string): string {
  return `\\x${found
    .charCodeAt(found.length - 1)
    .toString(16)
    .padStart(2, "0")}`;
}

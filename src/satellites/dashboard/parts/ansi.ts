/**
 * The text of a log line as pieces with colors. SGR sequences color, all other controls are shown and do nothing; so
 * are the characters that change the direction of text, which could make a line read otherwise than it is.
 */
import { afterSgr, PLAIN_TEXT, type TextStyle } from "../../../core/base/sgr.ts";
import { withoutEnd } from "../../../core/base/text-end.ts";

export type StyledText = { readonly text: string; readonly style: TextStyle; readonly isControl?: true };

const CONTROL = /[\0-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;
const CONTROLS = new RegExp(CONTROL.source, "g");
const SGR = /\x1b\[[\d;:]*m/g;
const SPECIAL = new RegExp(`(${SGR.source})|(?:(?!${SGR.source})${CONTROL.source})+`, "g");
/** Pictures of the special characters that have been shown so far, at most as many as SPECIAL names. */
const PICTURES = new Map<string, string>();

/** @example styled("\u001b[31mno\u001b[0m") // [{ text: "no", style: { color: 1 } }] */
export function styled(line: string): readonly StyledText[] {
  const text = withoutEnd(line, "\r");
  const pieces: StyledText[] = [];
  let style = PLAIN_TEXT;
  let from = 0;
  for (const found of text.matchAll(SPECIAL)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), style });
    from = found.index + found[0].length;
    if (found[1] === undefined) pieces.push({ text: shown(found[0]), style, isControl: true });
    else style = afterSgr(style, found[1].slice(2, -1));
  }
  if (from < text.length) pieces.push({ text: text.slice(from), style });
  return pieces;
}

/** The text that is seen, without colors: for searching, copying and measuring. */
export function plainText(line: string): string {
  return CONTROL.test(line) ? shown(withoutEnd(line, "\r").replace(SGR, "")) : line;
}

function shown(text: string): string {
  return text.replace(CONTROLS, pictureOf);
}

/** A control picture (U+2400 …) or the number of the character. */
function pictureOf(control: string): string {
  const known = PICTURES.get(control);
  if (known !== undefined) return known;
  const code = control.charCodeAt(0);
  const text =
    code < 0x20
      ? String.fromCharCode(0x2400 + code)
      : code === 0x7f
        ? "\u2421"
        : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  PICTURES.set(control, text);
  return text;
}

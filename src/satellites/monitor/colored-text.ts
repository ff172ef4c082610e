/** Colors of programs in the log pane: sequences of SGR become styles of cells, everything else stays text that does nothing. */
import { printableOutput } from "../../core/base/printable.ts";
import { afterSgr, PLAIN_TEXT, type TextStyle } from "../../core/base/sgr.ts";
import type { CellStyle } from "./cell-buffer.ts";

/** From this place of the text on. UTF-16 units. */
export type ColorChange = { readonly at: number; readonly style: TextStyle };

export type ColoredText = {
  /** Without sequences, and as one line. */
  readonly text: string;
  /** Absent: the text has no colors. */
  readonly colors?: readonly ColorChange[];
};

/** Most changes of color in a line; the colors behind them are left out. */
const MOST_CHANGES = 500;
const SGR = /\x1b\[([\d;:]*)m/g;

/** @example coloredText("\u001b[31mno\u001b[0m") // { text: "no", colors: [{ at: 0, style: { color: 1 } }, { at: 2, style: {} }] } */
export function coloredText(line: string): ColoredText {
  const colors: ColorChange[] = [];
  let text = "";
  let style = PLAIN_TEXT;
  let from = 0;
  for (const { index, 0: sequence, 1: parameters = "" } of line.matchAll(SGR)) {
    text += shown(line.slice(from, index));
    from = index + sequence.length;
    if (colors.length >= MOST_CHANGES) continue;
    style = afterSgr(style, parameters);
    if (colors.at(-1)?.at === text.length) colors.pop();
    colors.push({ at: text.length, style });
  }
  text += shown(line.slice(from));
  return colors.length === 0 ? { text } : { text, colors };
}

function shown(text: string): string {
  return printableOutput(text, false).replaceAll("\n", "\\x0a");
}

/** `hasColors` false: only attributes, as NO_COLOR asks. */
export function cellStyleOf(
  { color, background, bold, dim, italic, underline }: TextStyle,
  hasColors: boolean,
): CellStyle {
  return [
    ...(bold ? ["1"] : []),
    ...(dim ? ["2"] : []),
    ...(italic ? ["3"] : []),
    ...(underline ? ["4"] : []),
    ...(hasColors && color !== undefined ? [colorCode(color, 30)] : []),
    ...(hasColors && background !== undefined ? [colorCode(background, 40)] : []),
  ].join(";");
}

/** `base`: 30 for the text, 40 for what is behind it. The first 16 colors are those of the terminal's theme. */
function colorCode(color: number | string, base: 30 | 40): string {
  if (typeof color === "string")
    return [base + 8, 2, ...[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))].join(";");
  return color < 8 ? `${base + color}` : color < 16 ? `${base + 52 + color}` : `${base + 8};5;${color}`;
}

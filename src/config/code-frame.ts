/** A line of the source with carets under the place, as a terminal shows it. */

/** Longer lines are cut around the place. Characters. */
const WIDEST = 100;

/** How much of a cut line stays in front of the place. Characters. */
const BEFORE = 40;

const LINE_BREAK = /\r\n|\r|\n/;

/** The value, key or word that starts at the place; of an object or array only its bracket. */
const TOKEN = /^(?:"(?:[^"\\]|\\.)*"?|[^\s,:[\]{}"]+)/;

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /\p{M}|[\u200b-\u200f]/u;
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

export type Frame = { readonly text: string; readonly carets: string };

/**
 * The line and the carets below it; `line` and `column` count from 1, columns in UTF-16 units as editors do.
 * A place outside the source gives the nearest one inside.
 */
export function codeFrame(source: string, line: number, column: number): Frame {
  const lines = source.replace(/^\uFEFF/, "").split(LINE_BREAK);
  const whole = lines[clamp(line - 1, 0, lines.length - 1)] ?? "";
  const at = wholeCharacter(whole, clamp(column - 1, 0, Math.max(0, whole.length - 1)));
  const token = TOKEN.exec(whole.slice(at))?.[0] ?? whole.slice(at, at + 1);
  const cut = window(whole, at);
  const shown = cut.text.slice(cut.at, cut.at + token.length);
  const carets = "^".repeat(Math.max(1, width(shown)));
  return { text: plain(cut.text), carets: blank(cut.text.slice(0, cut.at)) + carets };
}

/** How many columns of a terminal a text takes. */
export function width(text: string): number {
  let columns = 0;
  for (const character of text) columns += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return columns;
}

function window(line: string, at: number): { readonly text: string; readonly at: number } {
  if (line.length <= WIDEST) return { text: line, at };
  const start = Math.max(0, Math.min(at - BEFORE, line.length - WIDEST));
  const end = start + WIDEST;
  const head = start > 0 ? "…" : "";
  return { text: head + line.slice(start, end) + (end < line.length ? "…" : ""), at: at - start + head.length };
}

/** Tabs stay tabs, so that the carets stand right whatever their width is. */
function blank(text: string): string {
  return text
    .split("\t")
    .map((part) => " ".repeat(width(part)))
    .join("\t");
}

/** Escape sequences in a file must not reach the terminal. One character for one keeps the columns. */
function plain(text: string): string {
  return text.replace(CONTROL, "\u00b7");
}

/** Not between the two halves of a surrogate pair, nor at a sign that is drawn over the one before. */
function wholeCharacter(text: string, at: number): number {
  let start = at;
  while (start > 0 && ((text.codePointAt(start - 1) ?? 0) > 0xffff || NO_WIDTH.test(String.fromCodePoint(text.codePointAt(start) ?? 0))))
    start -= 1;
  return start;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

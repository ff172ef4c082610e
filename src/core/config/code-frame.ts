/** A line of the source with carets under the place, for a terminal. */

/** Longer lines are cut around the place: so they fit into 80 columns, with line number and ellipses. Characters. */
const MAX_WIDTH = 70;

/** Characters of a cut line that stay in front of the place. */
const CONTEXT_BEFORE = 30;

const LINE_BREAK = /\r\n|\r|\n/;

/** The value, key or word that starts at the place; for an object or array only its bracket. */
const TOKEN = /^(?:"(?:[^"\\]|\\.)*"?|[^\s,:[\]{}"]+)/;

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /\p{M}|[\u200b-\u200f]/u;
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

export type Frame = { readonly text: string; readonly carets: string };

export function sourceLines(source: string): readonly string[] {
  return source.replace(/^\uFEFF/, "").split(LINE_BREAK);
}

/**
 * The line and the carets below it; `line` and `column` count from 1, columns in UTF-16 units as editors do.
 * For a place outside the source, the nearest one inside is used. `lines`: of `sourceLines`.
 */
export function codeFrame(lines: readonly string[], line: number, column: number): Frame {
  const lineText = lines[clamp(line - 1, 0, lines.length - 1)] ?? "";
  const at = characterStart(lineText, clamp(column - 1, 0, Math.max(0, lineText.length - 1)));
  const token = TOKEN.exec(lineText.slice(at))?.[0] ?? lineText.slice(at, at + 1);
  const cut = window(lineText, at);
  const shown = cut.text.slice(cut.at, cut.at + token.length);
  const carets = "^".repeat(Math.max(1, width(shown)));
  return { text: withoutControls(cut.text), carets: padding(cut.text.slice(0, cut.at)) + carets };
}

/** Number of terminal columns of a text. */
export function width(text: string): number {
  let columns = 0;
  for (const character of text) columns += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return columns;
}

function window(line: string, at: number): { readonly text: string; readonly at: number } {
  if (line.length <= MAX_WIDTH) return { text: line, at };
  const start = Math.max(0, Math.min(at - CONTEXT_BEFORE, line.length - MAX_WIDTH));
  const end = start + MAX_WIDTH;
  const head = start > 0 ? "…" : "";
  return { text: head + line.slice(start, end) + (end < line.length ? "…" : ""), at: at - start + head.length };
}

/** Blanks of the same width. Tabs stay tabs, so that the carets are right for any tab width. */
function padding(text: string): string {
  return text
    .split("\t")
    .map((part) => " ".repeat(width(part)))
    .join("\t");
}

/** Replaces control characters, as escape sequences of a file must not reach the terminal. One for one, to keep the columns. */
function withoutControls(text: string): string {
  return text.replace(CONTROL, "\u00b7");
}

/** Moves back from the second half of a surrogate pair, or a combining character, to the start of the character. */
function characterStart(text: string, at: number): number {
  let start = at;
  while (
    start > 0 &&
    ((text.codePointAt(start - 1) ?? 0) > 0xffff || NO_WIDTH.test(String.fromCodePoint(text.codePointAt(start) ?? 0)))
  )
    start -= 1;
  return start;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

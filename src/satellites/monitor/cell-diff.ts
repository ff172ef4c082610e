/** What a terminal must get so that one screen becomes another: only cells that have changed are written. */
import type { CellBuffer } from "./cell-buffer.ts";

/** As many unchanged cells are written again rather than skipped: moving the cursor takes as many bytes. */
const SHORT_GAP = 4;

/**
 * `before`: undefined if nothing is known about the screen; then all cells are written.
 *
 * Terminals disagree about the width of some characters (emoji of several code points above all). After such a
 * character the cursor is placed anew, and the rest of the row is written again, so at most the character itself looks
 * wrong.
 */
export function difference(before: CellBuffer | undefined, after: CellBuffer): string {
  const same = before?.columns === after.columns && before.rows === after.rows ? before : undefined;
  const pen = new Pen(after);
  for (let row = 0; row < after.rows; row += 1) writeRow({ before: same, after, row, pen });
  return pen.end();
}

type RowChange = {
  readonly before: CellBuffer | undefined;
  readonly after: CellBuffer;
  readonly row: number;
  readonly pen: Pen;
};

function writeRow({ before, after, row, pen }: RowChange): void {
  const first = row * after.columns;
  const end = (row + 1) * after.columns;
  let isAll = before === undefined;
  let written = first;
  for (let at = first; at < end; at += 1) {
    // An empty one is written with the character that it belongs to.
    if (after.texts[at] === "" || (!isAll && before !== undefined && isSame(before, after, at))) continue;
    const from = written > first && at - written <= SHORT_GAP ? written : at;
    for (let cell = from; cell <= at; cell += 1) if (after.texts[cell] !== "") pen.write(cell);
    isAll ||= !areCertain(after, from, at) || (before !== undefined && !areCertain(before, at, at));
    written = at + 1;
  }
}

/** Whether all terminals agree about the widths of these cells. */
function areCertain({ texts }: CellBuffer, from: number, to: number): boolean {
  for (let at = from; at <= to; at += 1) if (!isCertain(texts[at] ?? "")) return false;
  return true;
}

function isSame(before: CellBuffer, after: CellBuffer, at: number): boolean {
  if (before.texts[at] !== after.texts[at] || before.styles[at] !== after.styles[at]) return false;
  // The same text has the same width, unless its end was cut off by other text.
  return (before.texts[at + 1] === "") === (after.texts[at + 1] === "");
}

/** One unit of UTF-16: no sequence, and no emoji newer than the terminal. */
function isCertain(text: string): boolean {
  return text.length <= 1;
}

class Pen {
  readonly #cells: CellBuffer;
  #out = "";
  /** The cell at which the cursor is; undefined: unknown. */
  #cursor: number | undefined;
  #style: string | undefined;

  constructor(cells: CellBuffer) {
    this.#cells = cells;
  }

  write(at: number): void {
    const { texts, styles, columns } = this.#cells;
    const [text = " ", style = ""] = [texts[at], styles[at]];
    let end = at + 1;
    while (end % columns !== 0 && texts[end] === "") end += 1;
    if (this.#style !== style) this.#out += style === "" ? "\u001b[0m" : `\u001b[0;${style}m`;
    this.#style = style;
    this.#move(at);
    if (!isCertain(text)) {
      // A terminal to which it is narrower leaves these.
      this.#out += " ".repeat(end - at);
      this.#cursor = undefined;
      this.#move(at);
    }
    this.#out += text;
    this.#cursor = isCertain(text) && end % columns !== 0 ? end : undefined;
  }

  end(): string {
    return this.#style === undefined || this.#style === "" ? this.#out : `${this.#out}\u001b[0m`;
  }

  #move(at: number): void {
    const { columns } = this.#cells;
    if (this.#cursor !== at) this.#out += `\u001b[${Math.floor(at / columns) + 1};${(at % columns) + 1}H`;
    this.#cursor = at;
  }
}

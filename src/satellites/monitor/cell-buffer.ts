/** A screen as cells: what is shown at each place, and how. */
import { clustersOf } from "./text-clusters.ts";

export type ScreenSize = { readonly columns: number; readonly rows: number };

/** Parameters of SGR (`1;31`): colors and attributes. Empty: as the terminal shows text by itself. */
export type CellStyle = string;

/** Where a text begins, and the columns that it may take (default: to the end of the row). */
export type CellPlace = { readonly column: number; readonly row: number; readonly room?: number };

export class CellBuffer {
  readonly columns: number;
  readonly rows: number;
  /** Row by row. A wide character is in its first cell; the cells that it covers have an empty text and its style. */
  readonly texts: string[];
  readonly styles: CellStyle[];

  constructor({ columns, rows }: ScreenSize) {
    this.columns = columns;
    this.rows = rows;
    this.texts = new Array<string>(columns * rows).fill(" ");
    this.styles = new Array<CellStyle>(columns * rows).fill("");
  }

  /** Writes text; what has no room ends with `…`. Returns the column behind it. */
  put(text: string, { column, row, room = this.columns - column }: CellPlace, style: CellStyle = ""): number {
    const end = Math.min(this.columns, column + room);
    if (row < 0 || row >= this.rows || column < 0 || column >= end) return column;
    // A character has at least one column: of a long line, no more needs to be looked at. Marks may belong to one.
    const clusters = clustersOf(text.length > 8 * this.columns ? text.slice(0, 8 * this.columns) : text);
    let at = column;
    for (const [index, cluster] of clusters.entries()) {
      const isLast = index === clusters.length - 1;
      if (at + cluster.width > end || (at + cluster.width === end && !isLast)) {
        this.#set({ text: "…", width: 1 }, row * this.columns + at, style);
        return at + 1;
      }
      this.#set(cluster, row * this.columns + at, style);
      at += cluster.width;
    }
    return at;
  }

  /** Gives all cells of a row, or a part of it, another style. */
  restyle({ column, row, room = this.columns - column }: CellPlace, style: (before: CellStyle) => CellStyle): void {
    const end = Math.min(this.columns, column + room);
    for (let at = column; at < end; at += 1)
      this.styles[row * this.columns + at] = style(this.styles[row * this.columns + at] ?? "");
  }

  /** The text of a row, with the blanks at its end. */
  line(row: number): string {
    return this.texts.slice(row * this.columns, (row + 1) * this.columns).join("");
  }

  #set({ text, width }: { readonly text: string; readonly width: number }, at: number, style: CellStyle): void {
    this.#free(at);
    this.#free(at + width - 1);
    this.texts[at] = text;
    for (let cell = at; cell < at + width; cell += 1) {
      if (cell > at) this.texts[cell] = "";
      this.styles[cell] = style;
    }
  }

  /** A wide character of which a cell is taken away leaves blanks. */
  #free(at: number): void {
    let first = at;
    while (first > 0 && this.texts[first] === "") first -= 1;
    const isWide = this.texts[first + 1] === "" && (first + 1) % this.columns !== 0;
    if (first === at && !isWide) return;
    this.texts[first] = " ";
    for (let cell = first + 1; cell % this.columns !== 0 && this.texts[cell] === ""; cell += 1) this.texts[cell] = " ";
  }
}

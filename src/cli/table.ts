/** Formats rows in columns of minimal width; the last column gets the rest of the terminal. */

import { printableLine } from "../base/printable.ts";

const GAP = "  ";
/** Minimum width of the last column, if it needs it and other columns can shrink. */
const LEAST = 16;
/** Minimum width of the first column. */
const LEAST_FIRST = 8;

type Options = {
  /** Columns of the terminal; 0: unknown. */
  readonly width?: number;
  /** Indexes of the columns to drop, in this order, if a narrow terminal has no room for the last one. */
  readonly spare?: readonly number[];
  /** Indexes of right-aligned columns. */
  readonly right?: readonly number[];
  /** Colours a cell that has its final width. */
  readonly paint?: (cell: string, at: { readonly row: number; readonly column: number }) => string;
};

/**
 * @example
 * table(["id", "status"], [["web", "running"]], { width: 80 })   // "id   status\nweb  running"
 */
export function table(head: readonly string[], given: readonly (readonly string[])[], options: Options = {}): string {
  const { right = [], paint = (cell) => cell } = options;
  const rows = given.map((cells) => cells.map(printableLine));
  const natural = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const widths = columnWidths(natural, options.width || Number.POSITIVE_INFINITY, options.spare ?? []);
  const columns = [...widths.keys()];
  const last = head.length - 1;
  const fit = (cell: string, column: number): string => {
    const width = widths.get(column) ?? 0;
    const text = cell.length > width ? `${cell.slice(0, width - 1)}…` : cell;
    if (column === last) return text;
    return right.includes(column) ? text.padStart(width) : text.padEnd(width);
  };
  const line = (cells: readonly string[], dress: (cell: string, column: number) => string): string =>
    columns.map((column) => dress(fit(cells[column] ?? "", column), column)).join(GAP);
  return [
    line(head, (cell) => cell).trimEnd(),
    ...rows.map((cells, row) => line(cells, (cell, column) => paint(cell, { row, column }))),
  ].join("\n");
}

/** The shown columns with their widths. */
function columnWidths(natural: readonly number[], width: number, spare: readonly number[]): ReadonlyMap<number, number> {
  const last = natural.length - 1;
  const widths = new Map(natural.entries());
  const left = (): number => width - [...widths].reduce((sum, [column, each]) => (column === last ? sum : sum + each + GAP.length), 0);
  const minLastWidth = Math.min(LEAST, natural[last] ?? 0);
  for (const column of spare) if (left() < minLastWidth) widths.delete(column);
  const first = natural[0] ?? 0;
  if (last > 0 && left() < minLastWidth) widths.set(0, Math.min(first, Math.max(LEAST_FIRST, first + left() - minLastWidth)));
  return widths.set(last, Math.min(natural[last] ?? 0, Math.max(1, left())));
}

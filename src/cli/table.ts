/** Rows in columns, as wide as they must be; the last column takes what the terminal has left. */

const GAP = "  ";
/** A last column narrower than this is worth nothing: lines may then be broken by the terminal. */
const LEAST = 10;

type Options = {
  /** Columns of the terminal. */
  readonly width?: number;
  /** Of numbers, by their index. */
  readonly right?: readonly number[];
  /** Puts colours around a cell that has its final width. */
  readonly paint?: (cell: string, at: { readonly row: number; readonly column: number }) => string;
};

/**
 * @example
 * table(["id", "status"], [["web", "running"]], { width: 80 })   // "id   status\nweb  running"
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[], options: Options = {}): string {
  const { width = Number.POSITIVE_INFINITY, right = [], paint = (cell) => cell } = options;
  const last = head.length - 1;
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const left = width - widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  const fit = (cell: string, column: number): string => {
    if (column === last) return cell.length > left && left >= LEAST ? `${cell.slice(0, left - 1)}…` : cell;
    return right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  };
  return [
    head.map(fit).join(GAP).trimEnd(),
    ...rows.map((cells, row) => cells.map((cell, column) => paint(fit(cell, column), { row, column })).join(GAP)),
  ].join("\n");
}

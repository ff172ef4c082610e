/** Rows in columns, as wide as they must be; the last column takes what the terminal has left. */

const GAP = "  ";
/** Characters that the last column gets, where it has so much to say and others can do with less. */
const LEAST = 16;
/** What the first one keeps. */
const LEAST_FIRST = 8;

type Options = {
  /** Columns of the terminal; 0: it doesn't know. */
  readonly width?: number;
  /** Those that are left out, one after the other, where a narrow terminal has no room for the last one. */
  readonly spare?: readonly number[];
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
  const { right = [], paint = (cell) => cell } = options;
  const natural = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const widths = fitted(natural, options.width || Number.POSITIVE_INFINITY, options.spare ?? []);
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

/** The columns that are shown, with their widths. */
function fitted(natural: readonly number[], width: number, spare: readonly number[]): ReadonlyMap<number, number> {
  const last = natural.length - 1;
  const widths = new Map(natural.entries());
  const left = (): number => width - [...widths].reduce((sum, [column, each]) => (column === last ? sum : sum + each + GAP.length), 0);
  const wanted = Math.min(LEAST, natural[last] ?? 0);
  for (const column of spare) if (left() < wanted) widths.delete(column);
  const first = natural[0] ?? 0;
  if (last > 0 && left() < wanted) widths.set(0, Math.min(first, Math.max(LEAST_FIRST, first + left() - wanted)));
  return widths.set(last, Math.min(natural[last] ?? 0, Math.max(1, left())));
}

/** Formats rows in columns that fit the terminal; a last cell that doesn't fit in its row is wrapped below it. */
import { printableLine } from "../../core/base/printable.ts";

const GAP = "  ";
/** Width that the last column gets before other columns are shortened or dropped. */
const LEAST = 8;
/** The first column is shortened to this before other columns are dropped, and then to the second number. */
const LEAST_FIRST = [16, 8] as const;
/** Wrapped text begins below the second column, but not further right than this. */
const MAX_INDENT = 20;
/** In narrower terminals it has a small indentation. */
const LEAST_WRAPPED = 24;

type Options = {
  /** Columns of the terminal; 0: unknown. */
  readonly width?: number;
  /** Indexes of the columns to drop, in this order, if a narrow terminal has no room for all. */
  readonly spare?: readonly number[];
  /** Indexes of right-aligned columns. */
  readonly right?: readonly number[];
  /** Colors a cell that has its final width. */
  readonly paint?: (cell: string, at: { readonly row: number; readonly column: number }) => string;
};

/**
 * @example
 * table(["id", "status"], [["web", "running"]], { width: 80 })   // "id   status\nweb  running"
 */
export function table(head: readonly string[], given: readonly (readonly string[])[], options: Options = {}): string {
  const { right = [], paint = (cell) => cell } = options;
  const width = options.width || Number.POSITIVE_INFINITY;
  const rows = given.map((cells) => cells.map(printableLine));
  const natural = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const widths = columnWidths(natural, width, options.spare ?? []);
  const last = head.length - 1;
  const room = widths.get(last) ?? 0;
  const fit = (cell: string, column: number): string => {
    if (column === last) return cell;
    const space = widths.get(column) ?? 0;
    return right.includes(column) ? cell.padStart(space) : shortened(cell, space).padEnd(space);
  };
  const line = (cells: readonly string[], dress: (cell: string, column: number) => string): string =>
    [...widths.keys()].map((column) => dress(fit(cells[column] ?? "", column), column)).join(GAP);
  const indent = " ".repeat(indentFor(widths.get(0) ?? 0, width));
  const linesOf = (cells: readonly string[], row: number): readonly string[] => {
    const dress = (cell: string, column: number): string => paint(cell, { row, column });
    const end = cells[last] ?? "";
    if (end.length <= room) return [line(cells, dress)];
    return [
      line(cells.toSpliced(last, 1, ""), dress).trimEnd(),
      ...wrapped(end, width - indent.length).map((each) => `${indent}${dress(each, last)}`),
    ];
  };
  const dropped = head.filter((title, column) => title !== "" && !widths.has(column));
  return [
    line(head, (cell) => cell).trimEnd(),
    ...rows.flatMap(linesOf),
    ...(dropped.length === 0 ? [] : wrapped(`(no room for ${dropped.join(", ")})`, width)),
  ].join("\n");
}

/** The middle is left out: beginnings and ends of ids tell them apart. */
export function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const end = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`;
}

function indentFor(first: number, width: number): number {
  const indent = Math.min(first + GAP.length, MAX_INDENT);
  return width - indent < LEAST_WRAPPED ? GAP.length : indent;
}

/** Lines of at most this width, broken between words where possible. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

/** The shown columns with their widths. */
function columnWidths(
  natural: readonly number[],
  width: number,
  spare: readonly number[],
): ReadonlyMap<number, number> {
  const last = natural.length - 1;
  const first = natural[0] ?? 0;
  const widths = new Map(natural.entries());
  const least = Math.min(LEAST, natural[last] ?? 0);
  const left = (): number =>
    width - [...widths].reduce((sum, [column, each]) => (column === last ? sum : sum + each + GAP.length), 0);
  /** As wide as possible, but not below `min`. */
  const fitFirst = (min: number): void => {
    if (last > 0) widths.set(0, Math.min(first, Math.max(min, (widths.get(0) ?? 0) + left() - least)));
  };
  fitFirst(LEAST_FIRST[0]);
  for (const column of spare) if (left() < least) widths.delete(column);
  fitFirst(LEAST_FIRST[0]);
  fitFirst(LEAST_FIRST[1]);
  return widths.set(last, Math.min(natural[last] ?? 0, Math.max(0, left())));
}

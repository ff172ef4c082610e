/** A table of records, from a description of its columns. */
import { table } from "./table.ts";

export type TableScreen = { readonly isTTY?: boolean; readonly columns?: number };

export type Column<Row> = {
  readonly title: string;
  /** In a narrow terminal, columns with the lowest rank are dropped first; columns without a rank stay. */
  readonly rank?: number;
  readonly cell: (row: Row, now: number) => string;
  readonly isRight?: boolean;
  /** Left out if all its cells are empty. */
  readonly isOptional?: boolean;
  /** Left out in a terminal with fewer columns. */
  readonly least?: number;
  readonly paint?: (text: string, row: Row) => string;
};

export function columnTable<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  screen: TableScreen,
  now = Date.now(),
): string {
  const texts = all.map(({ cell }) => rows.map((row) => cell(row, now)));
  const { columns: width = Number.POSITIVE_INFINITY } = screen;
  const isUsed = ({ isOptional, least = 0 }: Column<Row>, index: number): boolean =>
    width >= least && (isOptional !== true || texts[index]?.some((text) => text !== "") === true);
  const columns = all.filter(isUsed);
  const cells = texts.filter((_, index) => isUsed(all[index] as Column<Row>, index));
  return table(
    columns.map(({ title }) => title),
    rows.map((_, row) => cells.map((column) => column[row] ?? "")),
    {
      ...(screen.columns === undefined ? {} : { width: screen.columns }),
      spare: spareOf(columns),
      right: columns.flatMap(({ isRight }, index) => (isRight === true ? [index] : [])),
      paint: (text, { row, column }) => columns[column]?.paint?.(text, rows[row] as Row) ?? text,
    },
  );
}

/** Indexes of the columns in the order in which they are dropped. */
function spareOf<Row>(columns: readonly Column<Row>[]): readonly number[] {
  const ranked = columns.flatMap(({ rank }, index) => (rank === undefined ? [] : [{ rank, index }]));
  return ranked.sort((one, two) => one.rank - two.rank).map(({ index }) => index);
}

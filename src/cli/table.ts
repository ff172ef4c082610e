/** Rows in columns, as wide as they must be; the last column takes what the terminal has left. */

const GAP = "  ";

/**
 * @example
 * table(["id", "status"], [["web", "running"]], 80)   // "id   status\nweb  running"
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string => {
    const text = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join(GAP);
    return text.length > width ? `${text.slice(0, width - 1)}…` : text;
  };
  return [head, ...rows].map(line).join("\n");
}

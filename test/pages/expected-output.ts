/** Compares what a command has printed with what the page shows: numbers, times and the width of columns may differ. */

/** Each line of the page must be the next line of the output; `…` alone in a line stands for any lines. */
export function differenceOf(expected: string, actual: string): string | undefined {
  const [wanted, lines] = [linesOf(expected), linesOf(actual)];
  const pattern = wanted
    .map((line) => (line === "…" ? "(?:.*\n)*?" : `${line.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")}\n`))
    .join("");
  if (new RegExp(`^${pattern}$`).test(lines.map((line) => `${line}\n`).join(""))) return undefined;
  const missing = wanted.find((line) => line !== "…" && !lines.includes(line));
  const place = missing === undefined ? "in another order, or more often" : `without the line\n  ${missing}`;
  return `it prints what the page shows ${place}:\n${actual}\nThe page shows:\n${expected}`;
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map(shapeOf)
    .filter((line) => line !== "");
}

const UNITS = "ms|s|min|h|d|B|kB|MB|GB|%";

/** What every machine prints: numbers are `N`, and measured columns are left out, as they come with the first sample. */
function shapeOf(line: string): string {
  return line
    .replaceAll(/\x1b\[[\d;]*m/g, "")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z|[+-]\d\d:\d\d)?/g, "TIME")
    .replaceAll(/\b(CPU|MEMORY|RSS)\b|\d+(\.\d+)? %|(?<= {2})\d+(\.\d+)? (B|kB|MB|GB)\b(?= {2})/g, " ")
    .replaceAll(new RegExp(`\\b\\d+(\\.\\d+)?( (${UNITS})\\b)?`, "g"), "N")
    .replaceAll(/\s+/g, " ")
    .trim();
}

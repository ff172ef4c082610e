/** The one line of an incident that tells it apart from others. Pure. */
import { printableOutput } from "../../../core/base/printable.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { isErrorLine } from "../../../core/contract/why.ts";

/** Lines of a stack trace, carets below a place, and what runtimes write below everything. */
const ACCOMPANYING = /^\s+at |^[\s~^{}\])]*$|^Node\.js v/;

/** The error that it printed last, or its last line; undefined: it printed none. */
export function errorLineOf({ lines }: Pick<Incident, "lines">): string | undefined {
  const telling = lines.filter(({ text }) => !ACCOMPANYING.test(text));
  const line =
    telling.findLast(({ text }) => isErrorLine(text)) ??
    telling.findLast(({ severity }) => severity === "error") ??
    telling.at(-1);
  return line === undefined ? undefined : printableOutput(line.text, false).trim();
}

/** The same for lines that differ only in numbers, such as times, ports and pids. */
export function withoutNumbers(line: string): string {
  return line.replace(/\d+/g, "#");
}

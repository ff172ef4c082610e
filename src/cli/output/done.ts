/** What a command has done: text for people or, with `--json`, a record for programs. */
import { printable, printableJson } from "../../core/base/printable.ts";
import { isJson } from "./error-report.ts";

/** `text`: one line or several, without the last line end. */
export function printDone(text: string, record: object): void {
  process.stdout.write(`${isJson() ? printableJson(record, 2) : printable(text)}\n`);
}

/** Prints what people alone need to know. */
export function printRemark(text: string): void {
  if (!isJson()) process.stdout.write(`${printable(text)}\n`);
}

/** Quoting in units. */
import { oneLine } from "../workload.ts";

/** A value up to the end of its line. */
export function plainValue(text: string): string {
  return oneLine(text).replaceAll("%", "%%");
}

/** Whether a line can't end with this value: a backslash at the end takes the next line, and blanks there are left out. */
export function isUnwritable(text: string): boolean {
  return /[\\\s]$/.test(text) || oneLine(text) !== text;
}

/** A name of a unit; ids have no characters that it can't have, but a project may. */
export function unitName(id: string): string {
  return id.replace(/[^\w.-]/g, "_");
}

/** One word of a list, as in `Environment=`. */
export function word(text: string): string {
  const safe = text.replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(safe)
    ? safe
    : `"${safe.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r")}"`;
}

/** The words of a command, in which `$` begins a variable. */
export function commandLine(words: readonly string[]): string {
  return words.map((each) => word(each.replaceAll("$", "$$$$"))).join(" ");
}

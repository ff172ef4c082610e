/** Indentation and line ends of a text, and data written in the same style. */
import type { Node } from "jsonc-parser";

/** The first line end of the text; "\n" when it has one line. */
export function eolOf(text: string): string {
  return /\r\n|\r|\n/.exec(text)?.[0] ?? "\n";
}

/** Offset at which the line of an offset begins. */
export function lineStart(text: string, offset: number): number {
  const before = text.slice(0, offset);
  return Math.max(before.lastIndexOf("\n"), before.lastIndexOf("\r")) + 1;
}

/** White space at the beginning of the line. */
export function indentOf(text: string, offset: number): string {
  return leadingSpaces(text.slice(lineStart(text, offset), offset));
}

/** White space at the beginning of a text, up to its first line end. */
export function leadingSpaces(text: string): string {
  return /^[^\S\r\n]*/.exec(text)?.[0] ?? "";
}

export function withoutTrailingSpaces(text: string): string {
  return text.replace(/(?<![^\S\r\n])[^\S\r\n]+$/, "");
}

/** Whether there is only white space before the offset on its line, and a line above. */
export function isFirstOnLine(text: string, offset: number): boolean {
  const start = lineStart(text, offset);
  return start > 0 && text.slice(start, offset).trim() === "";
}

/** One step of indentation, as of the members of the root; two spaces if none is on its own line. */
export function indentUnit(text: string, root: Node): string {
  const member = root.children?.find(({ offset }) => isFirstOnLine(text, offset));
  const unit = member === undefined ? "" : indentOf(text, member.offset).slice(indentOf(text, root.offset).length);
  return unit === "" ? "  " : unit;
}

export type JsonStyle = { readonly indent: string; readonly unit: string; readonly eol: string };

/** JSON over several lines; the first line without indentation. */
export function severalLines(value: unknown, { indent, unit, eol }: JsonStyle): string {
  // A unit of more than ten characters would be cut by JSON.stringify.
  return JSON.stringify(value, null, "\t").replace(
    /\n(\t*)/g,
    (_, tabs: string) => eol + indent + unit.repeat(tabs.length),
  );
}

/** JSON in one line: `{ "id": "web" }`, or without spaces. */
export function oneLine(value: unknown, spaced: boolean): string {
  if (!spaced || typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => oneLine(item, spaced)).join(", ")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0
    ? "{}"
    : `{ ${members.map(([key, member]) => `${JSON.stringify(key)}: ${oneLine(member, spaced)}`).join(", ")} }`;
}

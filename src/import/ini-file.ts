/** The dialect of supervisord: Python's ConfigParser, with comments behind values. */
import { SourceFault } from "./source-fault.ts";

export type IniSection = { readonly name: string; readonly line: number; readonly values: Record<string, string> };

const SECTION = /^\[([^\]]+)\]/;
const OPTION = /^([^=:]+?)\s*[=:]\s*(.*)$/;

/**
 * Sections in their order; of equal ones the later values count. An indented line continues the value above it.
 *
 * @throws {SourceFault} at the first line that is none of them
 */
export function readIni(text: string): readonly IniSection[] {
  const sections = new Map<string, IniSection>();
  let section: IniSection | undefined;
  let key: string | undefined;
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = withoutComment(raw);
    if (line.trim() === "") continue;
    if (/^\s/.test(line) && section !== undefined && key !== undefined) {
      section.values[key] = `${section.values[key]}\n${line.trim()}`.trim();
      continue;
    }
    const [, name] = SECTION.exec(line.trim()) ?? [];
    const place = { line: index + 1, column: 1 };
    if (name !== undefined) {
      section = sections.get(name) ?? { name, line: index + 1, values: {} };
      sections.set(name, section);
      key = undefined;
      continue;
    }
    const [, option = "", value = ""] = OPTION.exec(line.trim()) ?? [];
    if (section === undefined) throw new SourceFault(place, "this line stands in front of the first [section]");
    if (option === "") throw new SourceFault(place, "expected [section], key=value, or an indented line that continues a value");
    key = option.toLowerCase();
    Object.defineProperty(section.values, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return [...sections.values()];
}

/** `;` and `#` begin a comment at the beginning of a line, and behind a blank. */
function withoutComment(line: string): string {
  return line.replace(/(^|\s)[;#].*$/, "$1").trimEnd();
}

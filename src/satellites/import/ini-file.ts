/** The dialect of supervisord: Python's ConfigParser, with comments behind values. */
import { SourceFault } from "./source-fault.ts";

export type IniSection = { readonly name: string; readonly line: number; readonly values: Record<string, string> };

const SECTION = /^\[([^\]]+)\]/;
const OPTION = /^([^=:]+)[=:](.*)/s;

/**
 * Sections in their order; of equal ones the later values count. An indented line continues the value above it.
 *
 * @throws {SourceFault} at the first line that is none of them
 */
export function readIni(text: string): readonly IniSection[] {
  const sections = new Map<string, IniSection>();
  let section: IniSection | undefined;
  let key: string | undefined;
  const continued: string[] = [];
  const finish = (): void => {
    if (section !== undefined && key !== undefined && continued.length > 0)
      section.values[key] = [section.values[key], ...continued].join("\n").trim();
    continued.length = 0;
  };
  let number = 0;
  for (const raw of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    number += 1;
    const line = withoutComment(raw);
    const trimmed = line.trimStart();
    if (trimmed === "") continue;
    if (trimmed !== line && section !== undefined && key !== undefined) {
      continued.push(trimmed);
      continue;
    }
    finish();
    const [, name] = SECTION.exec(trimmed) ?? [];
    if (name !== undefined) {
      section = sections.get(name) ?? { name, line: number, values: {} };
      sections.set(name, section);
      key = undefined;
      continue;
    }
    const [, option = "", value = ""] = OPTION.exec(trimmed) ?? [];
    if (section === undefined)
      throw new SourceFault({ line: number, column: 1 }, "this line stands before the first [section]");
    if (option === "")
      throw new SourceFault(
        { line: number, column: 1 },
        "expected [section], key=value, or an indented line that continues a value",
      );
    key = option.trimEnd().toLowerCase();
    Object.defineProperty(section.values, key, {
      value: value.trimStart(),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  finish();
  return [...sections.values()];
}

/** `;` and `#` begin a comment at the beginning of a line, and behind a blank. */
function withoutComment(line: string): string {
  return (/[;#]/.test(line) ? line.replace(/(^|\s)[;#].*/s, "$1") : line).trimEnd();
}

/** Unit files of systemd. */
import { ownMember } from "../../core/base/interpolate.ts";
import { SourceFault } from "./source-fault.ts";

/** Values of a section by directive, in their order; an empty assignment has taken away those before it. */
export type UnitSections = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/**
 * Reads a unit and, after it, its drop-ins. A line that ends with a backslash continues on the next one.
 *
 * @throws {SourceFault} at the first line that is none of a unit
 */
export function readUnit(texts: readonly string[]): UnitSections {
  const sections = new Map<string, Map<string, string[]>>();
  for (const text of texts) readInto(sections, text);
  return sections;
}

function readInto(sections: Map<string, Map<string, string[]>>, text: string): void {
  let section: Map<string, string[]> | undefined;
  for (const { line, number } of joinedLines(text)) {
    const place = { line: number, column: 1 };
    const [, name] = /^\[([^\]]+)\]$/.exec(line) ?? [];
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string[]>();
      sections.set(name, section);
      continue;
    }
    const [, directive, value = ""] = /^([\w-]+)\s*=\s*(.*)$/s.exec(line) ?? [];
    if (section === undefined) throw new SourceFault(place, "this line stands before the first [Section]");
    if (directive === undefined) throw new SourceFault(place, "expected [Section] or Directive=value");
    section.set(directive, value === "" ? [] : withValue(section.get(directive), value));
  }
}

function withValue(values: string[] | undefined, value: string): string[] {
  if (values === undefined) return [value];
  values.push(value);
  return values;
}

function joinedLines(text: string): readonly { readonly line: string; readonly number: number }[] {
  const lines: { line: string; number: number }[] = [];
  let open: { parts: string[]; number: number } | undefined;
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (/^[#;]/.test(line) || (open === undefined && line === "")) continue;
    const { parts, number }: { parts: string[]; number: number } = open ?? { parts: [], number: index + 1 };
    const continues = line.endsWith("\\");
    parts.push(continues ? line.slice(0, -1).trimEnd() : line);
    open = continues ? { parts, number } : undefined;
    if (!continues) lines.push({ line: parts.join(" "), number });
  }
  if (open !== undefined) lines.push({ line: open.parts.join(" "), number: open.number });
  return lines;
}

const WORD = /(?:"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|((?:[^\s"'\\]|\\[\s\S]|["'])+))/g;

/** The commands of a line: a semicolon that stands alone is between two. */
export function unitCommands(text: string): readonly string[] {
  const commands: string[] = [];
  let start = 0;
  for (const { 0: word, index } of text.matchAll(WORD))
    if (word === ";") {
      commands.push(text.slice(start, index));
      start = index + 1;
    }
  return [...commands, text.slice(start)].map((command) => command.trim()).filter(Boolean);
}

/** systemd's quoting: words in single or double quotes, and escapes as of C. A quote that is never closed is part of its word. */
export function unitWords(text: string): readonly string[] {
  const words: string[] = [];
  let end = -1;
  for (const { 0: whole, 1: double, 2: single, 3: plain, index } of text.matchAll(WORD)) {
    const word = unescaped(double ?? single ?? plain ?? "");
    if (index === end && words.length > 0) words[words.length - 1] += word;
    else words.push(word);
    end = index + whole.length;
  }
  return words;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  s: " ",
};

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|([\s\S]))/g,
    (_, hex: string | undefined, octal: string | undefined, other: string | undefined) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return ownMember(ESCAPES, other ?? "") ?? other ?? "";
    },
  );
}

/** Quoted pieces, then the rest of the line; a backslash takes the character behind it, also the end of a line. */
const ASSIGNMENT =
  /^[ \t]*(?:[#;].*|([A-Za-z_]\w*)[ \t]*=((?:[ \t]*(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"))*)[ \t]*((?:[^\n\\]|\\(?:[\s\S]|$))*))$/gm;

/** The variables of an env file, as systemd reads it. */
export function systemdVariables(text: string): Readonly<Record<string, string>> {
  const variables: [string, string][] = [];
  for (const [, name, quoted = "", rest = ""] of text.replaceAll("\r", "").matchAll(ASSIGNMENT)) {
    if (name === undefined) continue;
    const pieces = [...quoted.matchAll(/[ \t]*(?:'([^']*)'|"((?:[^"\\]|\\[\s\S])*)")/gy)].map(
      ([, single, double = ""]) => single ?? double.replace(/\\(?:\n|(["\\`$]))/g, (_, kept?: string) => kept ?? ""),
    );
    variables.push([
      name,
      pieces.join("") + rest.trimEnd().replace(/\\([\s\S])/g, (_, kept: string) => (kept === "\n" ? "" : kept)),
    ]);
  }
  return Object.fromEntries(variables);
}

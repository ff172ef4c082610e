/** Text for man(7): the macros that groff and mandoc share. */

/** `[heading, its lines]`; a heading of a page is in capitals. */
export type ManSection = readonly [heading: string, lines: readonly string[]];

export type ManPage = {
  readonly name: string;
  readonly section: 1 | 5;
  readonly summary: string;
  readonly sections: readonly ManSection[];
};

export type Edition = {
  readonly version: string;
  /** As 2026-01-31. */
  readonly date: string;
};

/** Characters that roff would print otherwise: a hyphen for a minus, a curly quote for a straight one. */
const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/** Running text on one line; `code` is bold. */
export function prose(text: string): string {
  const parts = text.split("`").map((part, index) => (index % 2 === 1 ? bold(part) : escaped(part)));
  return asText(parts.join(""));
}

export function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`;
}

/** A paragraph under a tag, as an option and what it does; further paragraphs below it. */
export function tagged(tag: string, ...paragraphs: readonly string[]): readonly string[] {
  return [".TP", bold(tag), ...paragraphs.map(prose).flatMap((text, index) => (index === 0 ? [text] : [".IP", text]))];
}

/** Lines as they are. */
export function literal(lines: readonly string[]): readonly string[] {
  return [".in +4n", ".EX", ...lines.map(escaped).map(asText), ".EE", ".in"];
}

export function manPageText({ name, section, summary, sections }: ManPage, { version, date }: Edition): string {
  const head = [
    `.TH "${name.toUpperCase()}" "${section}" "${date}" "procman ${version}" "procman"`,
    ".nh",
    ".ad l",
    ".SH NAME",
    `${escaped(name)} \\- ${prose(summary)}`,
  ];
  const body = sections.flatMap(([heading, lines]) => [
    `.S${heading === heading.toUpperCase() ? "H" : "S"} ${prose(heading)}`,
    ...lines,
  ]);
  return `${[...head, ...body].join("\n")}\n`;
}

function escaped(text: string): string {
  return text
    .replaceAll(/[\\'`^~-]/g, (character) => ESCAPES[character] ?? character)
    .replaceAll(
      /[^\x00-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}

/** A line that begins with a dot would be a request. */
function asText(line: string): string {
  return line.replace(/^\./, "\\&.");
}

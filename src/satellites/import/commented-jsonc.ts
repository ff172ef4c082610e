/** The text of a draft: JSON with comments. */
import { printableLine } from "../../core/base/printable.ts";
import type { DraftContent, ImportNote, ProcessDraft } from "./configuration-draft.ts";
import { configurationOf, membersOf } from "./repair.ts";

/** Values up to this are written in one line. Characters. */
const WIDTH = 120;

/** `from`: the foreign files. */
export function commentedText(configuration: DraftContent, from: readonly string[]): string {
  const { processes: _, profiles, ...top } = configurationOf(configuration);
  const list = configuration.processes.map(processText);
  const left = configuration.dropped.map(({ name, origin, notes }) =>
    [comment("    ", `${name} (${origin}) is left out:`), ...notes.map((note) => noteText("    ", note))].join("\n"),
  );
  return [
    comment("", `procman.jsonc, made by \`procman import ${from.join(" ")}\`.`),
    comment(
      "",
      "What can't be converted is a comment that says what to do. `procman validate` checks this file, `procman run` starts it.",
    ),
    "{",
    ...configuration.notes.map((note) => noteText("  ", note)),
    ...written(top).map(([name, value]) => `  ${member(name, value, 2)},`),
    '  "processes": [',
    ...[[...list, ...left].join("\n\n")].filter((lines) => lines !== ""),
    `  ]${profiles === undefined ? "" : `,\n  ${member("profiles", profiles, 2)}`}`,
    "}",
    "",
  ].join("\n");
}

function processText(draft: ProcessDraft, index: number, all: readonly ProcessDraft[]): string {
  const { origin, notes } = draft;
  const members = written(membersOf(draft)).map(([field, value]) => member(field, value, 6));
  return [
    ...(all[index - 1]?.origin === origin ? [] : [comment("    ", `From ${origin}`)]),
    "    {",
    ...members.map((text, position) => `      ${text}${position === members.length - 1 ? "" : ","}`),
    ...notes.map((note) => noteText("      ", note)),
    `    }${index === all.length - 1 ? "" : ","}`,
  ].join("\n");
}

function member(name: string, value: unknown, indent: number): string {
  return `${JSON.stringify(name)}: ${valueText(value, indent)}`;
}

function valueText(value: unknown, indent: number): string {
  const line = inLine(value);
  if (typeof value !== "object" || value === null || line.length + indent <= WIDTH) return line;
  const inner = " ".repeat(indent + 2);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const parts = Array.isArray(value)
    ? value.map((entry) => valueText(entry, indent + 2))
    : written(value).map(([name, each]) => member(name, each, indent + 2));
  return `${open}\n${parts.map((part) => `${inner}${part}`).join(",\n")}\n${" ".repeat(indent)}${close}`;
}

function written(value: object): readonly [string, unknown][] {
  return Object.entries(value).filter(([, each]) => each !== undefined);
}

function inLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = written(value).map(([name, each]) => `${JSON.stringify(name)}: ${inLine(each)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function noteText(indent: string, { field, advice }: ImportNote): string {
  return comment(indent, `${field}: ${advice}.`.replace(/([.!?])\.$/, "$1"));
}

/** Broken at blanks. */
function comment(indent: string, text: string): string {
  const lines: string[] = [];
  for (const word of printableLine(text).split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(lines.length === 0 ? `${indent}// ${word}` : `${indent}//   ${word}`);
  }
  return lines.join("\n");
}

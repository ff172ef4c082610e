/** Parser of env files. procman doesn't use Node's, whose versions differ on malformed lines. */

export type EnvFile = { readonly variables: Readonly<Record<string, string>>; readonly faults: readonly EnvFault[] };

/** `problem` follows the place in a message, and never quotes the line, which may hold a secret. `line` counts from 1. */
export type EnvFault = { readonly line: number; readonly problem: string };

const NO_ASSIGNMENT = "is not NAME=value and is ignored; write it like that, or put # in front of it";
const UNCLOSED = "opens a quote that is never closed, so the quote is part of the value; close it, or use other quotes";
const TRAILING = "has text after the closing quote of its value, which is ignored; use other quotes, or remove it";

/** Also matches blank lines and comments, without a name. */
const LINE = /^[ \t]*(?:#.*|(?:export[ \t]+)?(?<name>[^\s=#][^\s=]*)[ \t]*=[ \t]*(?<value>.*?)[ \t]*)?$/s;
/** A quoted value, with the rest of the line on which it ends. */
const QUOTED = /^(?<quote>["'`])(?<value>[\s\S]*?)\k<quote>(?<rest>[^\n]*)/;
const COMMENT = /^[ \t]*(?:#.*)?$/s;

/**
 * Reads lines `NAME=value`, with or without `export`, comments, and values in three kinds of quotes, which may span lines;
 * `\n` and `\r` in double quotes are a line feed and a carriage return. Malformed lines are ignored and reported.
 *
 * @example
 * readEnvFile("A=1\nB: 2\n") // { variables: { A: "1" }, faults: [{ line: 2, problem: "is not NAME=value …" }] }
 */
export function readEnvFile(file: string): EnvFile {
  const lines = file
    .replace(/^\uFEFF/, "")
    .replaceAll("\r", "")
    .split("\n");
  const variables = new Map<string, string>();
  const faults: EnvFault[] = [];
  for (let index = 0; index < lines.length; ) {
    const found = LINE.exec(lines[index] ?? "");
    const { name, value = "" } = found?.groups ?? {};
    const read = name === undefined ? undefined : readValue(value, lines.slice(index + 1));
    const problem = found === null ? NO_ASSIGNMENT : read?.problem;
    if (name !== undefined && read !== undefined) variables.set(name, read.value);
    if (problem !== undefined) faults.push({ line: index + 1, problem });
    index += read?.lines ?? 1;
  }
  return { variables: Object.fromEntries(variables), faults };
}

type ParsedLine = { readonly value: string; readonly lines: number; readonly problem?: string };

/** `below`: the lines on which the value may continue. */
function readValue(text: string, below: readonly string[]): ParsedLine {
  if (!/^["'`]/.test(text)) return { value: text.replace(/[ \t]*#.*$/s, ""), lines: 1 };
  const quoted = QUOTED.exec([text, ...below].join("\n"))?.groups;
  if (quoted === undefined) return { value: text, lines: 1, problem: UNCLOSED };
  const { quote, value = "", rest = "" } = quoted;
  return {
    value: quote === '"' ? value.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : value,
    lines: value.split("\n").length,
    ...(COMMENT.test(rest) ? {} : { problem: TRAILING }),
  };
}

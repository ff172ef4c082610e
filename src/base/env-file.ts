/** The text of an env file: its variables, and what is wrong with its lines. Not left to Node, whose versions differ in what they make of a line that is not well-formed. */

export type EnvFile = { readonly variables: Readonly<Record<string, string>>; readonly faults: readonly EnvFault[] };

/** `problem` follows the place, and never tells what the line has: that may be a secret. `line` counts from 1. */
export type EnvFault = { readonly line: number; readonly problem: string };

const NO_ASSIGNMENT = "is no NAME=value, and is ignored; write it so, or put # in front of it";
const UNCLOSED = "opens a quote that is never closed, so the quote is a part of the value; close it, or put the value in other quotes";
const TRAILING = "has something after the closing quote of its value, which is ignored; put the value in other quotes, or remove it";

/** Blank lines and comments match, too, without a name. */
const LINE = /^[ \t]*(?:#.*|(?:export[ \t]+)?(?<name>[^\s=#][^\s=]*)[ \t]*=[ \t]*(?<value>.*?)[ \t]*)?$/;
/** A quoted value from its quote on, with the rest of the line that it ends on. */
const QUOTED = /^(?<quote>["'`])(?<value>[\s\S]*?)\k<quote>(?<rest>.*)/;
const COMMENT = /^[ \t]*(?:#.*)?$/;

/**
 * Lines as `NAME=value`, with `export` or without, comments, and values in quotes of three kinds, which may have several
 * lines; `\n` within double quotes is a line end. What is none of that is ignored, and its neighbours count all the same.
 *
 * @example
 * readEnvFile("A=1\nB: 2\n") // { variables: { A: "1" }, faults: [{ line: 2, problem: "is no NAME=value, …" }] }
 */
export function readEnvFile(file: string): EnvFile {
  const lines = file
    .replace(/^\uFEFF/, "")
    .replaceAll("\r", "")
    .split("\n");
  const variables: Record<string, string> = {};
  const faults: EnvFault[] = [];
  for (let index = 0; index < lines.length; ) {
    const found = LINE.exec(lines[index] ?? "");
    const { name, value = "" } = found?.groups ?? {};
    const read = name === undefined ? undefined : readValue(value, lines.slice(index + 1));
    const problem = found === null ? NO_ASSIGNMENT : read?.problem;
    if (name !== undefined && read !== undefined) variables[name] = read.value;
    if (problem !== undefined) faults.push({ line: index + 1, problem });
    index += read?.lines ?? 1;
  }
  return { variables, faults };
}

type Read = { readonly value: string; readonly lines: number; readonly problem?: string };

/** `below`: the lines that it may go on in. */
function readValue(text: string, below: readonly string[]): Read {
  if (!/^["'`]/.test(text)) return { value: text.replace(/[ \t]*#.*$/, ""), lines: 1 };
  const quoted = QUOTED.exec([text, ...below].join("\n"))?.groups;
  if (quoted === undefined) return { value: text, lines: 1, problem: UNCLOSED };
  const { quote, value = "", rest = "" } = quoted;
  return {
    value: quote === '"' ? value.replaceAll("\\n", "\n") : value,
    lines: value.split("\n").length,
    ...(COMMENT.test(rest) ? {} : { problem: TRAILING }),
  };
}

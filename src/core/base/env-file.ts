/** Parser of env files. procman doesn't use Node's, whose versions differ on malformed lines. */
import { withoutEnd } from "./text-end.ts";

export type EnvFile = { readonly variables: Readonly<Record<string, string>>; readonly faults: readonly EnvFault[] };

/** `problem` follows the place in a message, and never quotes the line, which may hold a secret. `line` counts from 1. */
export type EnvFault = { readonly line: number; readonly problem: string };

const NO_ASSIGNMENT = "is not NAME=value and is ignored; write it like that, or put # in front of it";
const UNCLOSED = "opens a quote that is never closed, so the quote is part of the value; close it, or use other quotes";
const TRAILING = "has text after the closing quote of its value, which is ignored; use other quotes, or remove it";

/** What is in front of the first `=`. */
const NAME = /^[ \t]*(?:export[ \t]+)?([^\s=#][^\s=]*)[ \t]*$/;
const BLANK_OR_COMMENT = /^[ \t]*(?:#|$)/;

/**
 * Reads lines `NAME=value`, with or without `export`, comments, and values in three kinds of quotes, which may span
 * lines;
 * `\n` and `\r` in double quotes are a line feed and a carriage return. A comment behind a value begins with a blank
 * and `#`. Malformed lines are ignored and reported. Each character is read a fixed number of times: another user may
 * have written the file.
 *
 * @example
 * readEnvFile("A=1\nB: 2\n") // { variables: { A: "1" }, faults: [{ line: 2, problem: "is not NAME=value …" }] }
 */
export function readEnvFile(file: string): EnvFile {
  const text = file.replace(/^\uFEFF/, "").replaceAll("\r", "");
  const variables = new Map<string, string>();
  const faults: EnvFault[] = [];
  let line = 1;
  for (let start = 0; start < text.length; ) {
    const { name, value = "", problem, end, lines = 1 } = readLine(text, start);
    if (name !== undefined) variables.set(name, value);
    if (problem !== undefined) faults.push({ line, problem });
    line += lines;
    start = end + 1;
  }
  return { variables: Object.fromEntries(variables), faults };
}

/** `end`: where the line ends on which the value ends. `lines`: how many it has; absent: one. */
type ParsedLine = {
  readonly name?: string;
  readonly value?: string;
  readonly problem?: string;
  readonly end: number;
  readonly lines?: number;
};

function readLine(text: string, start: number): ParsedLine {
  const end = lineEnd(text, start);
  const line = text.slice(start, end);
  if (BLANK_OR_COMMENT.test(line)) return { end };
  const equals = line.indexOf("=");
  const name = equals === -1 ? undefined : NAME.exec(line.slice(0, equals))?.[1];
  if (name === undefined) return { problem: NO_ASSIGNMENT, end };
  const written = line.slice(equals + 1);
  const first = written.search(/[^ \t]|$/);
  if (/["'`]/.test(written.charAt(first))) return { name, ...readQuoted(text, start + equals + 1 + first, end) };
  const comment = written.search(/[ \t]#/);
  return { name, value: withoutBlanks(comment === -1 ? written : written.slice(0, comment)), end };
}

/** `end`: of the line with the opening quote. */
function readQuoted(text: string, at: number, end: number): ParsedLine {
  const quote = text.charAt(at);
  const close = text.indexOf(quote, at + 1);
  if (close === -1) return { value: withoutBlanks(text.slice(at, end)), problem: UNCLOSED, end };
  const value = text.slice(at + 1, close);
  const last = lineEnd(text, close);
  return {
    value: quote === '"' ? value.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : value,
    ...(BLANK_OR_COMMENT.test(text.slice(close + 1, last)) ? {} : { problem: TRAILING }),
    end: last,
    lines: value.split("\n").length,
  };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

function withoutBlanks(text: string): string {
  return withoutEnd(text.replace(/^[ \t]+/, ""), " \t");
}

/** `environment` of supervisord: `A="1",B=two`. */
import type { ForeignText } from "./foreign-text.ts";

/**
 * As Python's `shlex` in its old mode: a text in quotes, a word of letters, digits and a few signs, which may have quotes
 * in it, or one other character. An expression counts as part of a word.
 */
const TOKEN = String.raw`(?:"[^"]*"|'[^']*'|(?:[\w/.+\-():]|%\(\w+\)\d*[sd])(?:[\w/.+\-():"']|%\(\w+\)\d*[sd])*|%%|[^\s"'#])`;
/** Whatever stands behind a value is the comma. */
const VARIABLE = new RegExp(String.raw`\s*(${TOKEN})\s*=\s*(${TOKEN})(?:\s*${TOKEN})?`, "gy");

/** The variables of `environment`, up to a comment or a quote that is never closed. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, ForeignText>> {
  const source = text.trimEnd();
  const values = new Map<string, string>();
  let end = 0;
  for (const { 0: whole, 1: name = "", 2: value = "" } of source.matchAll(VARIABLE)) {
    values.set(name, value);
    end += whole.length;
  }
  if (end < source.length)
    fault(`can't be read from ${JSON.stringify(source.slice(end, end + 40).trim())} on: write the rest as "env"`);
  return Object.fromEntries([...values].map(([name, value]) => [name, expand(unquoted(value))]));
}

/** supervisord takes all quotes off both ends, and knows no backslash. */
function unquoted(value: string): string {
  const isQuote = (at: number): boolean => value[at] === '"' || value[at] === "'";
  let [start, end] = [0, value.length];
  while (isQuote(start)) start += 1;
  while (end > start && isQuote(end - 1)) end -= 1;
  return value.slice(start, end);
}

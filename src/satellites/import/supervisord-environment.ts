/** `environment` of supervisord: `A="1",B=two`. */
import type { ForeignText } from "./foreign-text.ts";

/**
 * As Python's `shlex` in its old mode: a text in quotes, a word of letters, digits and a few signs, which may have quotes
 * in it, or one other character. An expression counts as part of a word.
 */
const TOKEN = /\s*("[^"]*"|'[^']*'|(?:[\w/.+\-():]|%\(\w+\)\d*[sd])(?:[\w/.+\-():"']|%\(\w+\)\d*[sd])*|%%|[^\s"'#])/gy;

/** The variables of `environment`, up to a comment or a quote that is never closed. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, ForeignText>> {
  const source = text.trimEnd();
  const values = new Map<string, string>();
  let end = 0;
  TOKEN.lastIndex = 0;
  const next = (): string | undefined => TOKEN.exec(source)?.[1];
  for (let name = next(); name !== undefined; name = next()) {
    const value = next() === "=" ? next() : undefined;
    if (value === undefined) break;
    values.set(name, value);
    end = TOKEN.lastIndex;
    // Whatever stands behind a value is the comma.
    if (next() === undefined) break;
    end = TOKEN.lastIndex;
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

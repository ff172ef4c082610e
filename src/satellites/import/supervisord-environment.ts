/** `environment` of supervisord: `A="1",B=two`. */
import type { ForeignText } from "./foreign-text.ts";

/**
 * As Python's `shlex` in its old mode: a text in quotes, a word of letters, digits and a few signs, which may have quotes
 * in it, or one other character. An expression counts as part of a word.
 */
const TOKEN = /\s*("[^"]*"|'[^']*'|(?:[\w/.+\-():]|%\(\w+\)\d*[sd])(?:[\w/.+\-():"']|%\(\w+\)\d*[sd])*|%%|[^\s"'])/gy;

/** The variables of `environment`. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, ForeignText>> {
  const source = text.trimEnd();
  const tokens = tokensOf(source);
  const variables: [string, ForeignText][] = [];
  let end = tokens.at(-1)?.end ?? 0;
  // Whatever stands behind a value is the comma.
  for (let index = 0; index < tokens.length; index += 4) {
    const [name, equals, value] = tokens.slice(index, index + 3);
    if (name !== undefined && equals?.text === "=" && value !== undefined)
      variables.push([name.text, expand(unquoted(value.text))]);
    else {
      end = name?.start ?? 0;
      break;
    }
  }
  if (end < source.length)
    fault(`can't be read from ${JSON.stringify(source.slice(end, end + 40).trim())} on: write the rest as "env"`);
  return Object.fromEntries(variables);
}

type EnvironmentToken = { readonly text: string; readonly start: number; readonly end: number };

/** As far as supervisord reads them: up to a comment, or a quote that is never closed. */
function tokensOf(source: string): readonly EnvironmentToken[] {
  const tokens: EnvironmentToken[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(source); found !== null && found[1] !== "#"; found = TOKEN.exec(source))
    tokens.push({ text: found[1] ?? "", start: found.index, end: TOKEN.lastIndex });
  return tokens;
}

/** supervisord takes all quotes off both ends, and knows no backslash. */
function unquoted(value: string): string {
  const isQuote = (at: number): boolean => value[at] === '"' || value[at] === "'";
  let [start, end] = [0, value.length];
  while (isQuote(start)) start += 1;
  while (end > start && isQuote(end - 1)) end -= 1;
  return value.slice(start, end);
}

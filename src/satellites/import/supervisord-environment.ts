/** `environment` of supervisord: `A="1",B=two`. */
import type { ForeignText } from "./foreign-text.ts";

/** A variable of `A="1",B=two,C='a,b'`. */
const PAIR = /\s*([^=\s,]+)\s*=((?:"[^"]*"|'[^']*'|[^,"'])*)(?:,|$)/gy;

/** The variables of `environment`. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, ForeignText>> {
  const variables: [string, ForeignText][] = [];
  const source = text.replaceAll("\n", " ").trim();
  let end = 0;
  PAIR.lastIndex = 0;
  for (let found = PAIR.exec(source); found !== null && found[0] !== ""; found = PAIR.exec(source)) {
    const [, name = "", value = ""] = found;
    variables.push([name, expand(unquoted(value.trim()))]);
    end = PAIR.lastIndex;
  }
  if (end < source.length)
    fault(`can't be read from ${JSON.stringify(source.slice(end, end + 40))} on: write the rest as "env"`);
  return Object.fromEntries(variables);
}

/** supervisord takes all quotes off both ends, and knows no backslash. */
function unquoted(value: string): string {
  const isQuote = (at: number): boolean => value[at] === '"' || value[at] === "'";
  let [start, end] = [0, value.length];
  while (isQuote(start)) start += 1;
  while (end > start && isQuote(end - 1)) end -= 1;
  return value.slice(start, end);
}

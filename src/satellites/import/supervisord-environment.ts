/** `environment` of supervisord: `A="1",B=two,C='a,b'`. */
import { envValue, type ForeignText } from "./foreign-text.ts";

const PAIR = /\s*([^=\s,]+)\s*=((?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^,"'])*)(?:,|$)/gy;

/** Variables as procman writes them. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, string>> {
  const variables: [string, string][] = [];
  const source = text.replaceAll("\n", " ").trim();
  let end = 0;
  PAIR.lastIndex = 0;
  for (let found = PAIR.exec(source); found !== null && found[0] !== ""; found = PAIR.exec(source)) {
    const [, name = "", value = ""] = found;
    variables.push([name, envValue(expand(unquoted(value.trim())))]);
    end = PAIR.lastIndex;
  }
  if (end < source.length) fault(`can't be read from ${JSON.stringify(source.slice(end, end + 40))} on: write the rest as "env"`);
  return Object.fromEntries(variables);
}

function unquoted(value: string): string {
  return value.replace(
    /"((?:[^"\\]|\\[\s\S]?)*)(?:"|$)|'([^']*)(?:'|$)/g,
    (_, double: string | undefined, single: string) => double?.replace(/\\(["\\])/g, "$1") ?? single,
  );
}

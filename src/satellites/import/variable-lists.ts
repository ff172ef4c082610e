/** `environment` of compose and process-compose: an object, or a list of `NAME=value`. */
import { isObject } from "../../core/base/schema-check.ts";
import type { TakeNote } from "./foreign-fields.ts";
import { envValue, interpolated } from "./foreign-text.ts";

/** Variables as procman writes them. A name without a value is inherited anyway. `read`: replaces what is not a variable. */
export function variablesOf(
  given: unknown,
  note: TakeNote,
  read: (text: string) => string = (text) => text,
): Readonly<Record<string, string | number | boolean>> {
  const variables: [string, string | number | boolean][] = [];
  for (const [name, value] of pairsOf(given, note)) {
    const lost = (what: string): void =>
      note(
        `environment.${name}`,
        `${what} is written as a plain variable: procman knows \${NAME} and \${NAME:-default}`,
      );
    if (typeof value === "number" || typeof value === "boolean") variables.push([name, value]);
    else if (typeof value === "string") variables.push([name, envValue(interpolated(read(value), lost))]);
    else if (value !== null && value !== undefined)
      note(`environment.${name}`, "is not a text; a variable is a text, a number, true or false");
  }
  return Object.fromEntries(variables);
}

function pairsOf(given: unknown, note: TakeNote): readonly (readonly [string, unknown])[] {
  if (isObject(given)) return Object.entries(given);
  if (given !== undefined && given !== null && !Array.isArray(given))
    note("environment", "is neither an object nor a list, so it is left out");
  const list: readonly unknown[] = Array.isArray(given) ? given : [];
  return list.flatMap((entry) => {
    const [, name, value] = typeof entry === "string" ? (/^([^=\s]+)(?:=([\s\S]*))?$/.exec(entry) ?? []) : [];
    if (name === undefined) note("environment", "has an entry that is not NAME=value, which is left out");
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
}

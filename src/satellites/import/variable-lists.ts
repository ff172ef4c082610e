/** `environment` of compose and process-compose: an object, or a list of `NAME=value`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readEnvFile } from "../../core/base/env-file.ts";
import { isObject } from "../../core/base/schema-check.ts";
import type { ProcessDraft } from "./configuration-draft.ts";
import type { TakeNote } from "./foreign-fields.ts";
import { envValue, filledIn, interpolated, pathFields, type VariableFilling } from "./foreign-text.ts";

/** Variables of the `.env` beside a file; undefined: there is none. */
export function dotenvIn(
  folder: string,
  readText: (file: string) => string,
): Readonly<Record<string, string>> | undefined {
  const file = join(folder, ".env");
  return existsSync(file) ? readEnvFile(readText(file)).variables : undefined;
}

/** A record with the variables filled in that procman doesn't read where they stand. A note says which. */
export function withVariables(
  given: Readonly<Record<string, unknown>>,
  { note, ...filling }: Omit<VariableFilling, "onFilled"> & { readonly note: TakeNote },
): Readonly<Record<string, unknown>> {
  const fill = ([key, value]: readonly [string, unknown]): readonly [string, unknown] => {
    const found = new Set<string>();
    const filled = filling.kept.has(key) ? value : filledIn(value, { ...filling, onFilled: (each) => found.add(each) });
    if (found.size > 0)
      note(
        key,
        `has what ${[...found].join(", ")} is now: procman has no variable there, so write a later change here`,
      );
    return [key, filled];
  };
  return Object.fromEntries(Object.entries(given).map(fill));
}

/** Sets `env`. The folders of a PATH come first: procman appends a PATH in `env`. */
export function setVariables(draft: ProcessDraft, given: unknown, read?: (text: string) => string): void {
  const { PATH: path, ...env } = variablesOf(given, (field, advice) => draft.note(field, advice), read);
  if (Object.keys(env).length > 0) draft.merge("env", env);
  if (path !== undefined) draft.setAll(pathFields(String(path)));
}

/** Names of the variables, also of those without a value, which are inherited. */
export function namesOf(given: unknown): readonly string[] {
  if (isObject(given)) return Object.keys(given);
  const list: readonly unknown[] = Array.isArray(given) ? given : [];
  return list.flatMap((entry) => (typeof entry === "string" ? (/^[^=\s]+/.exec(entry) ?? []) : []));
}

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

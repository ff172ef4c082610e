/** Fills in the variables in the options of a plugin when it starts, so that procman writes no secret to a file. */
import type { ErrorPlace } from "../base/errors.ts";
import { expand, ownMember } from "../base/interpolate.ts";

/** Replaces `${NAME}` and `${NAME:-default}` in all strings. `faults`: missing variables, with their places. */
export function filledIn<Value>(
  value: Value,
  env: NodeJS.ProcessEnv,
): { readonly value: Value; readonly faults: readonly ErrorPlace[] } {
  const faults: ErrorPlace[] = [];
  return { value: fill(value, { env, faults, place: "options" }) as Value, faults };
}

type VariableVisit = { readonly env: NodeJS.ProcessEnv; readonly faults: ErrorPlace[]; readonly place: string };

function fill(value: unknown, visit: VariableVisit): unknown {
  if (typeof value === "string") return fillText(value, visit);
  if (Array.isArray(value))
    return value.map((item, index) => fill(item, { ...visit, place: `${visit.place}[${index}]` }));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, fill(member, { ...visit, place: `${visit.place}.${name}` })]),
  );
}

function fillText(text: string, { env, faults, place }: VariableVisit): string {
  const { text: filled, missing } = expand(text, (name) => ownMember(env, name));
  for (const name of missing)
    faults.push({ place, message: `needs the variable ${name}, which is not set in procman's environment` });
  return filled;
}

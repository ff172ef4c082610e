/** Variables in the options of a plugin: filled in when it starts, so that a secret is in no file of procman's. */
import type { Fault } from "../base/errors.ts";
import { expand } from "../base/variables.ts";

/** `${NAME}` and `${NAME:-default}` in all strings. What is missing is in `faults`, with its place. */
export function filledIn<Value>(value: Value, env: NodeJS.ProcessEnv): { readonly value: Value; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  return { value: fill(value, { env, faults, place: "options" }) as Value, faults };
}

type Visit = { readonly env: NodeJS.ProcessEnv; readonly faults: Fault[]; readonly place: string };

function fill(value: unknown, visit: Visit): unknown {
  if (typeof value === "string") return fillText(value, visit);
  if (Array.isArray(value)) return value.map((item, index) => fill(item, { ...visit, place: `${visit.place}[${index}]` }));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, fill(member, { ...visit, place: `${visit.place}.${name}` })]),
  );
}

function fillText(text: string, { env, faults, place }: Visit): string {
  const { text: filled, missing } = expand(text, (name) => env[name]);
  for (const name of missing) faults.push({ place, message: `needs the variable ${name}, which procman was started without` });
  return filled;
}

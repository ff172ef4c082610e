/** What is wrong with the schema of a configuration, in words that tell what to do. */

import { type JsonSchema, keysOf } from "../base/schema.ts";
import type { Violation } from "../base/schema-check.ts";
import { didYouMean, suggest } from "../base/suggest.ts";
import type { JsonPath } from "./document.ts";
import { NAME_PATTERN } from "./fields/field.ts";
import { type Finding, notAllowed, show } from "./problems.ts";

/** One finding for each violation. */
export function explain(violations: readonly Violation[]): readonly Finding[] {
  return violations.flatMap((violation) => explainOne(violation, violation.path));
}

function explainOne(violation: Violation, path: JsonPath): readonly Finding[] {
  const { keyword, schema, found } = violation;
  if (keyword === "additionalProperties") return [unknownKey(String(path.at(-1)), path, schema)];
  const meant = meantBranch(violation.branches ?? []);
  if (meant !== undefined) return meant.flatMap((inner) => explainOne(inner, [...path, ...inner.path]));
  if (keyword === "propertyNames") return [{ path, at: "key", message: notAllowed(found, schema.allowed ?? "another name") }];
  if (found === undefined) return [missing(path, allowedBy(violation))];
  return [{ path, message: notAllowed(found, allowedBy(violation), hint(violation)) }];
}

/** The one alternative of a union that is meant: only a bound of it is not kept, or what is wrong lies inside the value. */
function meantBranch(branches: readonly (readonly Violation[])[]): readonly Violation[] | undefined {
  const near = branches.filter((violations) => violations.every(({ keyword }) => isBound(keyword)));
  const fitting = branches.filter((violations) => violations.every(({ keyword, path }) => path.length > 0 || !isOfAnotherKind(keyword)));
  return near.length === 1 ? near[0] : fitting.length === 1 ? fitting[0] : undefined;
}

function isBound(keyword: Violation["keyword"]): boolean {
  return ["pattern", "minimum", "maximum", "minItems"].includes(keyword);
}

function isOfAnotherKind(keyword: Violation["keyword"]): boolean {
  return keyword === "type" || keyword === "const" || keyword === "enum";
}

function unknownKey(key: string, path: JsonPath, schema: JsonSchema): Finding {
  const known = keysOf(schema);
  const near = suggest(key, known);
  const home = Object.entries(schema.properties ?? {}).find(([, member]) => keysOf(member).includes(key))?.[0];
  const elsewhere = home === undefined ? ` Known here: ${known.join(", ")}.` : ` It belongs in ${JSON.stringify(home)}.`;
  const meant = near === undefined ? elsewhere : ` Did you mean ${JSON.stringify(near)}?`;
  return { path, at: "key", message: `Found the unknown key ${JSON.stringify(key)}.${meant}` };
}

function missing(path: JsonPath, allowed: string): Finding {
  const key = path.at(-1);
  return { path, message: typeof key === "string" ? `Missing key ${JSON.stringify(key)}: ${allowed}.` : `Missing value: ${allowed}.` };
}

function allowedBy({ keyword, schema }: Violation): string {
  if (keyword === "minItems") return "at least one entry";
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  return schema.allowed ?? values?.map(show).join(", ") ?? "an object";
}

function hint({ keyword, schema, found, branches = [] }: Violation): string {
  if (keyword === "anyOf") return branches.every(isOtherType) ? otherQuotes("string", found) : "";
  if (schema.enum !== undefined) return typeof found === "string" ? meantWord(found, schema.enum) : "";
  if (keyword === "type") return otherQuotes(schema.type, found);
  return keyword === "pattern" && schema.pattern === NAME_PATTERN.source && typeof found === "string" ? otherName(found) : "";
}

/** An alternative that takes another type: a number that is merely too large is none of them. */
function isOtherType(violations: readonly Violation[]): boolean {
  return violations.some(({ keyword, path, schema }) => keyword === "type" && path.length === 0 && schema.const === undefined);
}

/** Why a name won't do whose characters are, or nearly are, allowed. */
function otherName(found: string): string {
  if (found === "." || found === "..") return " As the name of a folder it means another one; choose any other.";
  const lower = found.toLowerCase();
  return lower !== found && NAME_PATTERN.test(lower) ? ` Write it in lower case: ${JSON.stringify(lower)}.` : "";
}

function meantWord(found: string, values: readonly string[]): string {
  if (values.includes("error") && /^(never|no|none|false)$/i.test(found)) return ' For no restarts at all set "restartLimit" to 0.';
  return didYouMean(found, values);
}

/** `"10"` for a number, or 8080 for a string. */
function otherQuotes(expected: JsonSchema["type"], found: unknown): string {
  if (expected === "string" && (typeof found === "number" || typeof found === "boolean")) return ` Write it in double quotes: "${found}".`;
  const bare = expected === "boolean" ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/;
  if (expected !== "string" && typeof found === "string" && bare.test(found)) return ` Write it without quotes: ${found}.`;
  return "";
}

/** Turns schema violations of a configuration into messages that say what to do. */

import { branchesOf, type JsonSchema, keysOf } from "../base/schema.ts";
import { matches, type Violation } from "../base/schema-check.ts";
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

/** The alternative of a union that is meant: the only one where just a bound is violated, or whose faults all lie inside the value. */
function meantBranch(branches: readonly (readonly Violation[])[]): readonly Violation[] | undefined {
  const similar = branches.filter((violations) => violations.every(({ keyword }) => isBound(keyword)));
  const fitting = branches.filter((violations) => violations.every(({ keyword, path }) => path.length > 0 || !isOfAnotherKind(keyword)));
  return similar.length === 1 ? similar[0] : fitting.length === 1 ? fitting[0] : undefined;
}

function isBound(keyword: Violation["keyword"]): boolean {
  return ["pattern", "minimum", "maximum", "minItems"].includes(keyword);
}

function isOfAnotherKind(keyword: Violation["keyword"]): boolean {
  return keyword === "type" || keyword === "const" || keyword === "enum";
}

function unknownKey(key: string, path: JsonPath, schema: JsonSchema): Finding {
  const known = keysOf(schema);
  const similar = suggest(key, known);
  const section = Object.entries(schema.properties ?? {}).find(([, member]) => keysOf(member).includes(key))?.[0];
  const elsewhere = section === undefined ? ` Known here: ${known.join(", ")}.` : ` It belongs in ${JSON.stringify(section)}.`;
  const meant = similar === undefined ? elsewhere : ` Did you mean ${JSON.stringify(similar)}?`;
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

function hint(violation: Violation): string {
  const { keyword, schema, found, branches = [] } = violation;
  if (typeof found === "number" && isNumeric(schema)) return aboveMaximum(found, schema, allowedBy(violation));
  if (keyword === "anyOf") return branches.every(isOtherType) && matches(String(found), schema) ? otherQuotes("string", found) : "";
  if (schema.enum !== undefined) return typeof found === "string" ? meantWord(found, schema.enum) : "";
  if (keyword === "type") return otherQuotes(schema.type, found);
  return keyword === "pattern" && schema.pattern === NAME_PATTERN.source && typeof found === "string" ? otherName(found) : "";
}

/** Whether the schema, or an alternative of it, takes numbers. */
function isNumeric(schema: JsonSchema): boolean {
  return [schema, ...branchesOf(schema)].some(({ type }) => type === "integer" || type === "number");
}

/** The greatest value for a number beyond it, unless `allowed` says it. */
function aboveMaximum(found: number, schema: JsonSchema, allowed: string): string {
  const greatest = [schema, ...branchesOf(schema)].find(({ maximum }) => maximum !== undefined)?.maximum;
  return greatest === undefined || found <= greatest || allowed.includes(String(greatest)) ? "" : ` The greatest value is ${greatest}.`;
}

/** Whether an alternative takes another type. */
function isOtherType(violations: readonly Violation[]): boolean {
  return violations.some(({ keyword, path, schema }) => keyword === "type" && path.length === 0 && schema.const === undefined);
}

/** Hint for a name that is nearly allowed. */
function otherName(found: string): string {
  if (found === "." || found === "..") return " As a folder name it means another folder; choose another name.";
  const lower = found.toLowerCase();
  return lower !== found && NAME_PATTERN.test(lower) ? ` Write it in lower case: ${JSON.stringify(lower)}.` : "";
}

/** Values of `restart` elsewhere: in Docker, systemd and supervisord. */
const RESTART_WORDS: Readonly<Record<string, string>> = {
  no: "never",
  none: "never",
  false: "never",
  true: "always",
  "on-failure": "error",
  unexpected: "error",
  "unless-stopped": "always",
};

function meantWord(found: string, values: readonly string[]): string {
  const meant = Object.hasOwn(RESTART_WORDS, found) ? RESTART_WORDS[found] : undefined;
  return meant !== undefined && values.includes(meant) ? ` Did you mean ${JSON.stringify(meant)}?` : didYouMean(found, values);
}

/** Hint for a value with missing or superfluous quotes. */
function otherQuotes(expected: JsonSchema["type"], found: unknown): string {
  if (expected === "string" && (typeof found === "number" || typeof found === "boolean")) return ` Write it in double quotes: "${found}".`;
  const bare = expected === "boolean" ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/;
  if (expected !== "string" && typeof found === "string" && bare.test(found)) return ` Write it without quotes: ${found}.`;
  return "";
}

/** zod's issues in words that tell what to do. */

import { didYouMean, suggest } from "../base/suggest.ts";
import type { Path } from "./document.ts";
import { type Finding, notAllowed, show } from "./finding.ts";
import { keysAt, NAME_PATTERN } from "./schema.ts";
import type { Issue } from "./zod-schema.ts";

/** One finding for each thing that is wrong; at most one for each value. */
export function explain(issues: readonly Issue[], data: unknown): readonly Finding[] {
  const findings = issues.flatMap((issue) => explainOne(issue, issue.path as Path, data));
  const seen = new Set<string>();
  return findings.filter(({ path, at }) => {
    const key = JSON.stringify([path, at]);
    return !seen.has(key) && seen.add(key);
  });
}

function explainOne(issue: Issue, path: Path, data: unknown): readonly Finding[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(key, path));
  if (issue.code === "invalid_union") {
    const meant = meantBranch(issue.errors);
    if (meant !== undefined) return meant.flatMap((inner) => explainOne(inner, [...path, ...(inner.path as Path)], data));
  }
  const found = valueAt(data, path);
  if (issue.code === "invalid_key")
    return [{ path, at: "key", message: notAllowed(path.at(-1), issue.issues[0]?.message ?? "another name") }];
  if (found === undefined) return [missing(path, allowedBy(issue))];
  return [{ path, message: notAllowed(found, allowedBy(issue), hint(issue, found)) }];
}

/** The one branch of a union whose type fits: what is wrong lies inside the value. */
function meantBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const fitting = branches.filter((issues) =>
    issues.every(({ code, path }) => path.length > 0 || (code !== "invalid_type" && code !== "invalid_value")),
  );
  return fitting.length === 1 ? fitting[0] : undefined;
}

function unknownKey(key: string, parent: Path): Finding {
  const known = keysAt(parent);
  const near = suggest(key, known);
  const home = known.find((sibling) => keysAt([...parent, sibling]).includes(key));
  const elsewhere = home === undefined ? ` Known here: ${known.join(", ")}.` : ` It belongs in ${JSON.stringify(home)}.`;
  const hint = near === undefined ? elsewhere : ` Did you mean ${JSON.stringify(near)}?`;
  return { path: [...parent, key], at: "key", message: `Found the unknown key ${JSON.stringify(key)}.${hint}` };
}

function missing(path: Path, allowed: string): Finding {
  const key = path.at(-1);
  return { path, message: typeof key === "string" ? `Missing key ${JSON.stringify(key)}: ${allowed}.` : `Missing value: ${allowed}.` };
}

function allowedBy(issue: Issue): string {
  return issue.code === "invalid_value" ? issue.values.map((value) => show(value)).join(", ") : issue.message;
}

function hint(issue: Issue, found: unknown): string {
  if (issue.code === "invalid_value") return typeof found === "string" ? meantWord(found, issue.values.map(String)) : "";
  if (issue.code === "invalid_type") return otherQuotes(issue.expected, found);
  if (issue.code === "invalid_union") return issue.errors.every(isOtherType) ? otherQuotes("string", found) : "";
  return issue.code === "invalid_format" && issue.pattern === String(NAME_PATTERN) && typeof found === "string" ? otherName(found) : "";
}

/** A branch of a union that takes another type: a number that is merely too large is none of them. */
function isOtherType(issues: readonly Issue[]): boolean {
  return issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
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
function otherQuotes(expected: string, found: unknown): string {
  if (expected === "string" && (typeof found === "number" || typeof found === "boolean")) return ` Write it in double quotes: "${found}".`;
  const bare = expected === "boolean" ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/;
  if (expected !== "string" && typeof found === "string" && bare.test(found)) return ` Write it without quotes: ${found}.`;
  return "";
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

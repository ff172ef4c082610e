/**
 * Regular expressions that take more than linear time on some text: `X+$`, `X+(?=Y)`, a lazy group before `X*$`, nested
 * quantifiers. recheck judges each by its automaton, and also sees that a search begins anew at each character.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkSync } from "recheck";
import ts from "typescript";

/** For one expression. Milliseconds. */
const TIMEOUT = 60_000;
/** By its steps alone: a busy machine makes no expression slow. */
const LIMITS = { timeout: TIMEOUT, attackTimeout: TIMEOUT, incubationTimeout: TIMEOUT };

/** Files that make an expression at run time, and why no text of others is slow with it. */
const MADE_AT_RUN_TIME: Readonly<Record<string, string>> = {
  "core/base/command-line.ts": "sticky, of pieces that begin with different characters",
  "core/base/glob.ts": "at most two wildcards; others are an automaton",
  "core/base/run-marker.ts": "anchored; the only group that can begin anew ends at a fixed text",
  "core/base/schema-check.ts": "the patterns of the schema, which are looked at where they are written",
  "core/config/units.ts": "anchored, of another expression",
  "core/contract/query.ts": "anchored, of parts of fixed widths",
  "satellites/dashboard/parts/ansi.ts": "another expression without its flag",
  "satellites/export/workloads.ts": "a number",
  "satellites/import/compose-command.ts": "anchored to lines, of a fixed word",
  "satellites/import/on-calendar.ts": "anchored, of groups that begin with different characters",
  "core/probes/limited-match.ts": "the user's own, within a time limit",
  "core/probes/readiness.ts": "the user's own, which is checked before",
};

type ExpressionReport = { readonly expressions: number; readonly problems: readonly string[] };

/** `proven`: literals that need not be looked at again; those that are found to be fast are added. */
export function checkExpressions(root: string, proven = new Set<string>()): ExpressionReport {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
    .sort();
  const found = files.flatMap((file) => expressionsIn(file, readFileSync(join(root, file), "utf8")));
  return { expressions: found.length, problems: found.flatMap((each) => problemOf(each, proven)) };
}

/** `literal` absent: it is made at run time. */
type Expression = { readonly file: string; readonly line: number; readonly literal?: string };

function expressionsIn(file: string, text: string): readonly Expression[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    if (ts.isRegularExpressionLiteral(node)) found.push({ file, line, literal: node.text });
    const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
    if (isCall && node.expression.getText(source) === "RegExp") found.push({ file, line });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function problemOf({ file, line, literal }: Expression, proven: Set<string>): readonly string[] {
  if (literal === undefined)
    return file in MADE_AT_RUN_TIME
      ? []
      : [`${file}:${line}: an expression made at run time; write it as a literal, which can be checked`];
  if (proven.has(literal)) return [];
  const end = literal.lastIndexOf("/");
  const verdict = checkSync(literal.slice(1, end), literal.slice(end + 1), LIMITS);
  if (verdict.status === "safe") {
    proven.add(literal);
    return [];
  }
  const example =
    verdict.status === "vulnerable"
      ? `${verdict.complexity.summary}, with ${verdict.attack.pattern}`
      : verdict.error.kind;
  return [`${file}:${line}: ${literal} may take more than linear time: ${example}`];
}

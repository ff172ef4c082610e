/** Rules of `logger.levels`. */
import { ProcmanError } from "../../base/errors.ts";
import { LinearExpression } from "../../os/linear-expression.ts";
import type { PartialConfig } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

type Rules = NonNullable<PartialConfig["logger"]>["levels"];
type Rule = NonNullable<Exclude<Rules, false | undefined>[number]>;

export function levelErrors(rules: Rules): readonly Finding[] {
  if (rules === undefined || rules === false) return [];
  return rules.flatMap((rule, index) => {
    const problem = rule === undefined ? undefined : problemOf(rule);
    return problem === undefined ? [] : [{ ...problem, path: ["logger", "levels", index, ...problem.path] }];
  });
}

function problemOf(rule: Rule): Finding | undefined {
  const given = (["prefix", "regex"] as const).filter((key) => key in rule);
  if (given.length !== 1)
    return {
      path: [],
      message: `Found ${given.length === 0 ? "neither" : "both"} "prefix" ${given.length === 0 ? "nor" : "and"} "regex"; allowed: one of them.`,
    };
  if ("prefix" in rule)
    return "severity" in rule
      ? undefined
      : { path: [], message: 'Missing key "severity": debug, info, warn or error, for lines with this prefix.' };
  return rule.regex === undefined ? undefined : expressionProblem(rule.regex, "severity" in rule);
}

function expressionProblem(regex: string, hasSeverity: boolean): Finding | undefined {
  try {
    const { groups } = new LinearExpression(regex);
    if (hasSeverity || groups > 0) return undefined;
    const message = `Found ${show(regex)} without "severity"; allowed: with "severity", or with a group that has the name of the level, such as "level=(\\\\w+)".`;
    return { path: ["regex"], message };
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    return { path: ["regex"], message: `${error.message}.` };
  }
}

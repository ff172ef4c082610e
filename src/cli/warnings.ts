/** Doubtful things in a configuration, for people. */
import { renderProblems } from "../config/problems.ts";
import type { Config } from "../config/spec.ts";

/** Writes the warnings of a configuration to standard error; nothing when there are none. */
export function printWarnings({ warnings }: Config, source: string): void {
  if (warnings.length === 0) return;
  const colors = process.stderr.isTTY === true && !process.env.NO_COLOR;
  const count = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
  process.stderr.write(`${warnings[0]?.file}: ${count}\n\n${renderProblems(warnings, source, { colors })}\n`);
}

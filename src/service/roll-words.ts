/** What is said of a rolling restart. */
import { ProcmanError } from "../base/errors.ts";
import type { Roll } from "./rolls.ts";

/** "web-1" and "web-2" */
export function named(ids: readonly string[]): string {
  return ids.map((id) => `"${id}"`).join(" and ");
}

export function alreadyRunning(cluster: string, what: string): ProcmanError {
  const remedy = "wait for its end, or restart all instances at once with --hard";
  return new ProcmanError("roll-running", `Cannot restart "${cluster}": ${what} of it is under way; ${remedy}`);
}

/** `at`: who has not come up, and why. */
export function problemOf({ cluster, left, news }: Roll, at: string, reason: string): string {
  const rest = left.length === 0 ? "" : `; ${left.join(", ")} ${left.length === 1 ? "runs" : "run"} on as before`;
  const remedy = news === undefined ? "" : `; with the next change "${at}" is tried first`;
  return `Cannot restart "${cluster}" any further: "${at}" did not come up: it ${reason}${rest}${remedy}`;
}

/** From the answer to a request that failed to what is thrown. */
import { ERRORS, type ErrorCode, ProcmanError } from "../base/errors.ts";
import type { ProblemRecord } from "../contract/records.ts";

export function errorOf(status: number, text: string): Error {
  const problem = parsed(text);
  if (problem === undefined) return new Error(`${status}: what answers there is no procman: ${text.slice(0, 200)}`);
  const { code, detail, problems = [] } = problem;
  return Object.hasOwn(ERRORS, code) ? new ProcmanError(code as ErrorCode, detail, { faults: problems }) : new Error(`${code}: ${detail}`);
}

/** Who answers may be a proxy. */
function parsed(text: string): ProblemRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<ProblemRecord> | null;
    return typeof value?.code === "string" && typeof value.detail === "string" ? (value as ProblemRecord) : undefined;
  } catch {
    return undefined;
  }
}

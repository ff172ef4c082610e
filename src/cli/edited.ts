/** What an edit makes of the configuration file is checked before it is written. */
import { ProcmanError } from "../base/errors.ts";
import { check } from "../config/load.ts";
import { ConfigurationError, renderProblems } from "../config/problems.ts";
import type { Source } from "../config/source.ts";
import type { Config } from "../config/spec.ts";

/**
 * `what` can't be done, if the outcome is not valid. Places are those of the outcome, which nobody sees otherwise.
 *
 * @throws {ProcmanError} `configuration-invalid`
 */
export function checkEdited(what: string, source: Source, text: string): Config {
  try {
    return check({ ...source, text });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const { problems, source: outcome } = error;
    const why = `${source.shownAs} would not be valid then, and stays as it is`;
    throw new ProcmanError("configuration-invalid", `Cannot ${what}: ${why}\n\n${renderProblems(problems, outcome)}`);
  }
}

export function isValid(source: Source): boolean {
  try {
    check(source);
    return true;
  } catch (error) {
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

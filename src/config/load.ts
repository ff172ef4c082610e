/** Reads and checks the configuration file. */

import { type ConfigText, read } from "./config-file.ts";
import { parseDocument, withoutBom } from "./document.ts";
import type { Scale } from "./instance-overrides.ts";
import { ConfigurationError } from "./problems.ts";
import type { Config } from "./spec.ts";
import { type CheckOptions, resolveConfiguration } from "./validate.ts";

/**
 * Reads and validates a file; without a path, see `read`.
 *
 * @throws {ProcmanError} `configuration-missing`: no such file, or it can't be read.
 * @throws {ConfigurationError} it is not valid; all problems are in it.
 *
 * @example
 * const config = load(undefined, process.cwd());
 * for (const { id } of config.processes) console.log(id);
 */
export function load(path: string | undefined, cwd: string, profile?: string, scale?: Scale): Config {
  return check(read(path, cwd), { ...(profile !== undefined && { profile }), ...(scale !== undefined && { scale }) });
}

/** Validates a file that was read. */
export function check(
  { file, shownAs, text }: ConfigText,
  options: Pick<CheckOptions, "profile" | "allProfiles" | "looksAtFiles" | "scale"> = {},
): Config {
  return resolveConfiguration(text, { file, shownAs, ...options });
}

/**
 * Checks only the syntax (JSON with comments), for edits.
 *
 * @throws {ConfigurationError}
 */
export function checkSyntax({ shownAs, text }: ConfigText): void {
  const source = withoutBom(text);
  const faults = parseDocument(source).syntax.map((fault) => ({ file: shownAs, ...fault }));
  if (faults.length > 0) throw new ConfigurationError(faults, source);
}

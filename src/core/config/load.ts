/** Reads and checks the configuration file. */

import { dirname } from "node:path";
import { compact } from "../base/compact.ts";
import { isObject } from "../base/schema-check.ts";
import { startFolder } from "../os/start-folder.ts";
import { type ConfigText, read } from "./config-file.ts";
import { parseDocument, withoutBom } from "./document.ts";
import { withIncluded } from "./include.ts";
import { effectiveDocument } from "./inherited-fields.ts";
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
 * const config = load(undefined, "/srv/shop");
 * for (const { id } of config.processes) console.log(id);
 */
export function load(path: string | undefined, cwd: string, profile?: string, scale?: Scale): Config {
  return check(read(path, cwd), compact({ profile, scale }));
}

/** Validates a file that was read. */
export function check(
  { file, shownAs, text }: ConfigText,
  options: Omit<CheckOptions, "file" | "shownAs" | "cwd" | "parallelism"> = {},
): Config {
  return resolveConfiguration(text, { file, shownAs, ...options });
}

/**
 * Checks only the syntax (JSON with comments), for edits.
 *
 * @throws {ConfigurationError}
 */
export function checkSyntax({ shownAs, text }: ConfigText): void {
  const { syntax, sources } = parseDocument(withoutBom(text), shownAs);
  if (syntax.length > 0) throw new ConfigurationError(syntax, sources);
}

export function hasValidSyntax({ text }: ConfigText): boolean {
  return parseDocument(withoutBom(text)).syntax.length === 0;
}

/** The content of a configuration with that of the files that it includes, and what processes inherit; valid or not. */
export function dataOf({ file, shownAs, text }: ConfigText): unknown {
  const context = { file, folder: dirname(file), cwd: startFolder(file) };
  const { document, ofFile } = withIncluded(parseDocument(withoutBom(text), shownAs), context);
  return effectiveDocument(document, [], ofFile).document.data;
}

/** The file of a configuration in which the process is written: the main one, or one that it includes. undefined: none has it. */
export function fileWith(id: string, main: ConfigText): ConfigText | undefined {
  return filesOf(main).find(({ text }) => hasProcess(text, id));
}

/** The main file and those that it includes; without one that was removed meanwhile. */
export function filesOf(main: ConfigText): readonly ConfigText[] {
  const context = { file: main.file, folder: dirname(main.file), cwd: startFolder(main.file) };
  return [main, ...withIncluded(parseDocument(withoutBom(main.text), main.shownAs), context).texts];
}

function hasProcess(text: string, id: string): boolean {
  const { data } = parseDocument(withoutBom(text));
  const processes: readonly unknown[] = isObject(data) && Array.isArray(data.processes) ? data.processes : [];
  return processes.some((process) => isObject(process) && process.id === id);
}

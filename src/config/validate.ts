/** Checks a configuration, given as text or data, and makes the specifications of it. */
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { matches, violations } from "../base/schema-check.ts";
import { type CheckContext, checkMeaning } from "./checks/checks.ts";
import { stripsTypes, typeScriptFlags } from "./checks/command-checks.ts";
import { configuration, type RawConfig } from "./config-schema.ts";
import { type Document, dataDocument, parseDocument, withoutBom } from "./document.ts";
import { explain } from "./explain.ts";
import { type Scale, scaled } from "./instance-overrides.ts";
import { deepCopy, deepFreeze, normalise } from "./normalise.ts";
import { dropInvalid } from "./partial.ts";
import { ConfigurationError, placed } from "./problems.ts";
import { profileErrors, profileNames, withProfile } from "./profile.ts";
import type { Config, ConfigProblem } from "./spec.ts";

export type CheckOptions = {
  /** Path of the file. Relative paths resolve from its folder. */
  readonly file?: string;
  /** Name of the file in messages; the same as `file` when omitted. */
  readonly shownAs?: string;
  /** Folder that relative paths resolve from when there is no `file`. Default: the current folder. */
  readonly cwd?: string;
  /** Name of the profile to merge, one of those below `profiles`. */
  readonly profile?: string;
  /** Checks all profiles. */
  readonly allProfiles?: boolean;
  /** Reads the files that it names: env files, workers, plugins. A missing or malformed one is a warning. */
  readonly looksAtFiles?: boolean;
  /** The number of instances that "max" means. Default: one for each processor. */
  readonly parallelism?: number;
  /** Overrides the numbers of instances, by cluster. */
  readonly scale?: Scale;
};

/** What a check has found acceptable. */
type CheckedConfiguration = {
  /** As it was given, with the profile merged. */
  readonly raw: RawConfig;
  readonly warnings: Config["warnings"];
};

/**
 * Checks a configuration against the schema and all its rules. Takes data, or text in JSON with comments.
 *
 * @throws {ConfigurationError} with all problems, for text with line and column; for data both are 0.
 */
export function checkConfiguration(input: unknown, options: CheckOptions = {}): CheckedConfiguration {
  return checked(input, options, checkContextOf(options));
}

/**
 * Checks a configuration and makes the specifications of it: with the defaults, every unit converted, paths absolute. The result is
 * frozen.
 *
 * @throws {ConfigurationError}
 */
export function resolveConfiguration(input: unknown, options: CheckOptions = {}): Config {
  const { file = "", cwd = process.cwd(), profile } = options;
  const checkContext = checkContextOf(options);
  const { raw, warnings } = checked(input, options, checkContext);
  const specifications = normalise(raw, checkContext);
  return deepFreeze({
    file: file === "" ? "" : resolve(cwd, file),
    ...(profile !== undefined && { profile }),
    ...specifications,
    warnings,
  });
}

function checked(input: unknown, options: CheckOptions, checkContext: CheckContext): CheckedConfiguration {
  const { file = "", shownAs = file, profile, allProfiles = false, scale } = options;
  const source = typeof input === "string" ? withoutBom(input) : undefined;
  const document = source === undefined ? dataDocument(deepCopy(input)) : parseDocument(source);
  const others = allProfiles ? profileNames(document).filter((name) => name !== profile) : [];
  return checkAll(document, [profile, ...others], { checkContext, shownAs, source, scale });
}

function checkContextOf(options: CheckOptions): CheckContext {
  const { file = "", cwd = process.cwd(), parallelism = availableParallelism(), looksAtFiles = false } = options;
  // Called for few configurations: listing all flags of this Node takes a millisecond.
  const node = { stripsTypes: stripsTypes(), isStrippable: () => typeScriptFlags() !== undefined };
  return { folder: file === "" ? cwd : dirname(resolve(cwd, file)), parallelism, now: new Date(), ...node, looksAtFiles };
}

type ValidationContext = {
  readonly checkContext: CheckContext;
  readonly shownAs: string;
  readonly source: string | undefined;
  readonly scale: Scale | undefined;
};

/** Checks with each profile and returns the result of the first. A problem of several profiles is reported once. */
function checkAll(
  document: Document,
  [first, ...others]: readonly [string | undefined, ...string[]],
  context: ValidationContext,
): CheckedConfiguration {
  const found: ConfigProblem[] = [];
  const attempt = (profile: string | undefined): CheckedConfiguration | undefined => {
    try {
      return checkOne(document, profile, context);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      found.push(...error.problems);
      return undefined;
    }
  };
  const [outcome] = [first, ...others].map(attempt);
  if (outcome !== undefined && found.length === 0) return outcome;
  const unique = [...new Map(found.map((problem) => [JSON.stringify([problem.line, problem.column, problem.message]), problem])).values()];
  throw new ConfigurationError(
    unique.sort((a, b) => a.line - b.line || a.column - b.column),
    context.source,
  );
}

function checkOne(
  original: Document,
  profile: string | undefined,
  { checkContext, shownAs, source, scale }: ValidationContext,
): CheckedConfiguration {
  const refuse = (problems: Config["warnings"]): never => {
    throw new ConfigurationError(problems, source);
  };
  if (original.syntax.length > 0) refuse(original.syntax.map((fault) => ({ file: shownAs, ...fault })));
  const profileProblems = profile === undefined ? [] : profileErrors(original, profile);
  const merged = profile === undefined ? original : withProfile(original, profile);
  const document = scale === undefined ? merged : { ...merged, data: scaled(merged.data, scale) };
  const { data } = document;
  const config = matches(data, configuration) ? data : undefined;
  const schemaProblems = config === undefined ? explain(violations(data, configuration)) : [];
  const meaning = checkMeaning(dropInvalid(data, schemaProblems) ?? {}, checkContext);
  const errors = placed([...profileProblems, ...schemaProblems, ...meaning.errors], document, shownAs);
  const duplicates = document.duplicates.map((fault) => ({ file: shownAs, ...fault }));
  if (config === undefined || errors.length + duplicates.length > 0)
    return refuse([...errors, ...duplicates].sort((a, b) => a.line - b.line || a.column - b.column));
  return { raw: config, warnings: placed(meaning.warnings, document, shownAs) };
}

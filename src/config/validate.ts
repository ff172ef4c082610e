/** A configuration from its text or its data: checked completely, then normalised. */
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { matches, violations } from "../base/schema-check.ts";
import { type CheckContext, checkMeaning } from "./checks/checks.ts";
import { stripsTypes, typeScriptFlags } from "./checks/command-checks.ts";
import { configuration } from "./config-schema.ts";
import { type Document, dataDocument, parseDocument, withoutBom } from "./document.ts";
import { explain } from "./explain.ts";
import { type Scale, scaled } from "./instance-overrides.ts";
import { copyOf, deepFreeze, normalise } from "./normalise.ts";
import { dropInvalid } from "./partial.ts";
import { ConfigurationError, placed } from "./problems.ts";
import { profileErrors, profileNames, withProfile } from "./profile.ts";
import type { Config, ConfigProblem } from "./spec.ts";

export type ValidateOptions = {
  /** The file that the configuration stands for. Relative paths resolve from its folder. */
  readonly file?: string;
  /** How the file is called in messages; the same as `file` when omitted. */
  readonly shownAs?: string;
  /** Folder that relative paths resolve from when there is no `file`. Default: the current folder. */
  readonly cwd?: string;
  /** Merged over the rest: one of those below `profiles`. */
  readonly profile?: string;
  /** Checks each profile too, also those that are not asked for. */
  readonly allProfiles?: boolean;
  /** Looks at the files that it names: env files, workers, plugins. What is not there, or not well-formed, is a warning. */
  readonly looksAtFiles?: boolean;
  /** How many instances "max" is. Default: as many as the machine has processors. */
  readonly parallelism?: number;
  /** Other numbers of instances than those that it says, by cluster. */
  readonly scale?: Scale;
};

/**
 * Checks a configuration against the schema and all its rules, fills in the defaults and converts every unit.
 * Takes data, or text in JSON with comments. The outcome is frozen; doubtful things are in its `warnings`.
 *
 * @throws {ConfigurationError} with everything that is wrong in `problems`; for text with line and column,
 * for data both are 0.
 *
 * @example
 * const config = validateConfiguration({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 * config.processes[0].policy.terminateMs; // 30000
 *
 * @example
 * try {
 *   validateConfiguration('{ "processes": [{ "id": "web", "cmd": "node", "restart": "allways" }] }');
 * } catch (error) {
 *   error.problems[0].path;    // "processes[0].restart"
 *   error.problems[0].message; // Found "allways"; allowed: "always", "error". Did you mean "always"?
 * }
 */
export function validateConfiguration(input: unknown, options: ValidateOptions = {}): Config {
  const { file = "", cwd = process.cwd() } = options;
  const shownAs = options.shownAs ?? file;
  const around = surroundings(file === "" ? cwd : dirname(resolve(cwd, file)), options);
  const source = typeof input === "string" ? withoutBom(input) : undefined;
  const document = source === undefined ? dataDocument(copyOf(input)) : parseDocument(source);
  const { profile, allProfiles = false, scale } = options;
  const others = allProfiles ? profileNames(document).filter((name) => name !== profile) : [];
  const { outcome, warnings } = examineAll(document, [profile, ...others], { around, shownAs, source, scale });
  return deepFreeze({ file: file === "" ? "" : resolve(cwd, file), ...(profile !== undefined && { profile }), ...outcome, warnings });
}

function surroundings(folder: string, { parallelism = availableParallelism(), looksAtFiles = false }: ValidateOptions): CheckContext {
  // Asked of few: to look through all flags of this Node takes a millisecond.
  const node = { stripsTypes: stripsTypes(), isStrippable: () => typeScriptFlags() !== undefined };
  return { folder, parallelism, now: new Date(), ...node, looksAtFiles };
}

type ValidationContext = {
  readonly around: CheckContext;
  readonly shownAs: string;
  readonly source: string | undefined;
  readonly scale: Scale | undefined;
};

type Examined = { readonly outcome: ReturnType<typeof normalise>; readonly warnings: Config["warnings"] };

/** The outcome is that of the first; what is wrong with several is said once. */
function examineAll(
  document: Document,
  [first, ...others]: readonly [string | undefined, ...string[]],
  context: ValidationContext,
): Examined {
  const found: ConfigProblem[] = [];
  const attempt = (profile: string | undefined): Examined | undefined => {
    try {
      return examine(document, profile, context);
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

function examine(written: Document, profile: string | undefined, { around, shownAs, source, scale }: ValidationContext): Examined {
  const refuse = (problems: Config["warnings"]): never => {
    throw new ConfigurationError(problems, source);
  };
  if (written.syntax.length > 0) refuse(written.syntax.map((fault) => ({ file: shownAs, ...fault })));
  const wishes = profile === undefined ? [] : profileErrors(written, profile);
  const merged = profile === undefined ? written : withProfile(written, profile);
  const document = scale === undefined ? merged : { ...merged, data: scaled(merged.data, scale) };
  const { data } = document;
  const config = matches(data, configuration) ? data : undefined;
  const shape = config === undefined ? explain(violations(data, configuration)) : [];
  const meaning = checkMeaning(dropInvalid(data, shape) ?? {}, around);
  const errors = placed([...wishes, ...shape, ...meaning.errors], document, shownAs);
  const twice = document.duplicates.map((fault) => ({ file: shownAs, ...fault }));
  if (config === undefined || errors.length + twice.length > 0)
    return refuse([...errors, ...twice].sort((a, b) => a.line - b.line || a.column - b.column));
  return { outcome: normalise(config, around), warnings: placed(meaning.warnings, document, shownAs) };
}

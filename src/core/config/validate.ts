/** Checks a configuration, given as text or data, and makes the specifications of it. */
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { matches, violations } from "../base/schema-check.ts";
import { startFolder } from "../os/start-folder.ts";
import { type CheckContext, checkMeaning } from "./checks/checks.ts";
import { stripsTypes, typeScriptFlags } from "./checks/command-checks.ts";
import { obstacles } from "./checks/obstacles.ts";
import type { ConfigText } from "./config-file.ts";
import { configuration, type RawConfig } from "./config-schema.ts";
import { fixedPorts, portFields, rangeOf } from "./configured-ports.ts";
import { type Document, parseDocument, showPath, withoutBom } from "./document.ts";
import { explain } from "./explain.ts";
import { withVariables } from "./field-variables.ts";
import { DEFAULT_NAME, stateDirOf } from "./find-config.ts";
import { withIncluded } from "./include.ts";
import { effectiveDocument, type FileLayers } from "./inherited-fields.ts";
import { type Scale, scaled } from "./instance-overrides.ts";
import { deepFreeze, normalise } from "./normalise.ts";
import { dropInvalid } from "./partial.ts";
import { dataDocument } from "./plain-data.ts";
import { type ChosenPorts, likelyPorts, type PortChoice } from "./port-choice.ts";
import { ConfigurationError, inOrder, namesOf, placed } from "./problems.ts";
import { profileErrors, profileNames } from "./profile.ts";
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
  /** Looks for what it needs at a start: files, folders, programs, variables, ports. What is missing is a warning. */
  readonly looksAtFiles?: boolean;
  /** With `looksAtFiles`: what is missing is an error. */
  readonly isStrict?: boolean;
  /** Whether this machine must have the users and groups, and the right to use them. Default: true. */
  readonly checksAccounts?: boolean;
  /** The processes that start are named in the command: none needs a start policy. */
  readonly startsNamed?: boolean;
  /** The text of an included file as it would be after an edit. */
  readonly edited?: ConfigText;
  /** The files that it includes, in place of those on the disk. */
  readonly included?: readonly ConfigText[];
  /** The number of instances that "max" means. Default: one for each processor. */
  readonly parallelism?: number;
  /** Overrides the numbers of instances, by cluster. */
  readonly scale?: Scale;
  /** Bytes that one instance uses, by cluster, as far as procman runs it. */
  readonly instanceMemory?: ReadonlyMap<string, number>;
  /** Chooses the ports of "auto"; if none is left, the configuration is refused. Default: `likelyPorts`, and that is a warning. */
  readonly ports?: PortChoice;
};

/** What a check has found acceptable. */
type CheckedConfiguration = {
  /** As it was given, with the profile merged, and with what processes inherit in each of them. */
  readonly raw: RawConfig;
  readonly warnings: Config["warnings"];
  /** The warnings because of which a start would fail. */
  readonly obstacles: Config["warnings"];
  /** The files that it includes, whose processes are in it. */
  readonly included: readonly ConfigText[];
  /** The ports of "auto", by id. */
  readonly chosenPorts: ReadonlyMap<string, number>;
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
 * Checks a configuration and makes the specifications of it: with the defaults, every unit converted, paths absolute.
 * The result is frozen.
 *
 * @throws {ConfigurationError}
 */
export function resolveConfiguration(input: unknown, options: CheckOptions = {}): Config {
  const { file = "", cwd = startFolder(file), profile } = options;
  const checkContext = checkContextOf(options);
  const { raw, warnings, included, chosenPorts } = checked(input, options, checkContext);
  const specifications = normalise(raw, { ...checkContext, chosenPorts });
  const path = file === "" ? "" : resolve(cwd, file);
  const main = typeof input === "string" && path !== "" ? [{ file: path, text: input }] : [];
  return deepFreeze({
    file: path,
    ...(profile !== undefined && { profile }),
    ...(included.length > 0 && { included: included.map((each) => each.file) }),
    ...(main.length > 0 && { texts: [...main, ...included.map(({ file, text }) => ({ file, text }))] }),
    ...specifications,
    warnings,
  });
}

function checked(input: unknown, options: CheckOptions, checkContext: CheckContext): CheckedConfiguration {
  const { file = "", shownAs = file, cwd = startFolder(file), profile, allProfiles = false, scale } = options;
  const main = typeof input === "string" ? parseDocument(withoutBom(input), shownAs) : dataDocument(input);
  const folder = file === "" ? options.cwd : checkContext.folder;
  const path = file === "" ? "" : resolve(cwd, file);
  const { document, texts, ofFile } = withIncluded(main, {
    ...{ file: path, folder, cwd: namedFrom(path, shownAs) },
    ...{ edited: options.edited, given: options.included },
  });
  const others = allProfiles ? profileNames(document).filter((name) => name !== profile) : [];
  const context = { ...checkContext, ...(path !== "" && { files: [path, ...texts.map((each) => each.file)] }) };
  const outcome = checkAll(document, [profile, ...others], {
    checkContext: context,
    included: texts,
    scale,
    ofFile,
    ports: options.ports,
  });
  if (options.isStrict === true && outcome.obstacles.length > 0)
    throw new ConfigurationError(outcome.obstacles, document.sources);
  return outcome;
}

/** The folder from which the name of the main file in messages counts: those of included files count from there, too. */
function namedFrom(file: string, shownAs: string): string {
  return shownAs !== file && file.endsWith(`/${shownAs}`) ? file.slice(0, -shownAs.length) : startFolder(file);
}

function checkContextOf(options: CheckOptions): CheckContext {
  const {
    file = "",
    cwd = startFolder(file),
    parallelism = availableParallelism(),
    looksAtFiles = false,
    checksAccounts = true,
    startsNamed = false,
    instanceMemory,
  } = options;
  // Called for few configurations: listing all flags of this Node takes a millisecond.
  const node = { stripsTypes: stripsTypes(), isStrippable: () => typeScriptFlags() !== undefined };
  return {
    folder: file === "" ? cwd : dirname(resolve(cwd, file)),
    parallelism,
    now: new Date(),
    ...node,
    looksAtFiles,
    checksAccounts,
    startsNamed,
    instanceMemory,
  };
}

type ValidationContext = {
  readonly checkContext: CheckContext;
  readonly included: readonly ConfigText[];
  readonly scale: Scale | undefined;
  readonly ofFile: FileLayers;
  readonly ports: PortChoice | undefined;
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
  // Data has no lines: there the path is the place.
  const keyOf = ({ file, line, column, path, message }: ConfigProblem): string =>
    JSON.stringify([file, line, column, line === 0 ? path : "", message]);
  const unique = [...new Map(found.map((problem) => [keyOf(problem), problem])).values()];
  throw new ConfigurationError(inOrder(unique, document.sources), document.sources);
}

function checkOne(
  original: Document,
  profile: string | undefined,
  { checkContext, included, scale, ofFile, ports }: ValidationContext,
): CheckedConfiguration {
  const refuse = (problems: Config["warnings"]): never => {
    throw new ConfigurationError(problems, original.sources);
  };
  if (original.syntax.length > 0) refuse(inOrder(original.syntax, original.sources));
  const profileProblems = profile === undefined ? [] : profileErrors(original, profile);
  const effective = effectiveDocument(original, profile === undefined ? [] : [profile], ofFile);
  const substituted = withVariables(effective.document.data, configuration, process.env);
  const data = scale === undefined ? substituted.data : scaled(substituted.data, scale);
  const document = { ...effective.document, data };
  const config = matches(data, configuration) ? data : undefined;
  const schemaProblems = config === undefined ? explain(violations(data, configuration)) : [];
  const misspelt = schemaProblems.filter(({ meant }) => meant === "cmd" || meant === "worker");
  const meaning = checkMeaning(dropInvalid(data, schemaProblems) ?? {}, {
    ...checkContext,
    hasOverrides: scale !== undefined,
    nameOf: namesOf(document),
    misspelt: new Set(misspelt.map(({ path }) => showPath(path.slice(0, -1)))),
  });
  const wrong = [...schemaProblems, ...effective.once(meaning.errors)].map(substituted.withOrigin);
  const errors = [...placed([...profileProblems, ...effective.problems, ...wrong], document), ...document.faults];
  if (config === undefined || errors.length > 0) return refuse(inOrder(errors, document.sources));
  const { ports: chosenPorts, warnings: moved, missing } = chosen(config, checkContext, ports);
  if (ports !== undefined && missing.length > 0) return refuse(placed(missing, document));
  const found =
    checkContext.looksAtFiles === true
      ? obstacles({ ...normalise(config, { ...checkContext, chosenPorts }), file: "", warnings: [] }, config.processes)
      : [];
  const needed = effective.once([...meaning.obstacles, ...missing, ...found]);
  const warnings = placed([...effective.once(effective.useful(meaning.warnings)), ...moved, ...needed], document);
  return { raw: effective.writtenOut(config), warnings, obstacles: placed(needed, document), included, chosenPorts };
}

const NOTHING_CHOSEN: ChosenPorts = { ports: new Map(), warnings: [], missing: [] };

/** The ports of "auto". */
function chosen(
  config: RawConfig,
  { folder, parallelism }: CheckContext,
  choose: PortChoice = (scope) => likelyPorts(scope),
): ChosenPorts {
  const wishes = portFields(config, parallelism).filter(({ value }) => value === "auto");
  if (wishes.length === 0) return NOTHING_CHOSEN;
  const stateDir = stateDirOf(folder, config.name ?? DEFAULT_NAME);
  const fixed = fixedPorts(config, parallelism);
  return choose({ wishes, fixed, range: rangeOf(config), stateDir, checkout: folder });
}

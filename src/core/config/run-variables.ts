/** The configured variables of a run: env files, expanded texts, secrets in files. */
import { type EnvFault, readEnvFile } from "../base/env-file.ts";
import { expand, ownMember } from "../base/interpolate.ts";
import { readWhole } from "../os/careful-files.ts";
import { instanceVariables, PORT_OF_INSTANCE } from "./cluster-variables.ts";
import type { EnvFileSpec, ProcessSpec } from "./spec.ts";

/** A text in which `${NAME}` is expanded, the content of a file, or a variable of procman's environment. */
export type VariableValue = string | { readonly file: string } | { readonly env: string };

/** The configured variables. They are read for each run and not kept, as they may be secret. */
export type EnvironmentVariables = {
  /** Absolute; later ones override earlier ones. */
  readonly envFile?: readonly EnvFileSpec[];
  readonly env: Readonly<Record<string, VariableValue>>;
  /** The values may use number and port of the instance. */
  readonly cluster?: ProcessSpec["cluster"];
};

/** A variable can't be set, so the run can't start. The message never contains the value of a variable. */
export class MissingVariableError extends Error {
  override readonly name = "MissingVariableError";
  /** Its name, if it is one of the file. */
  readonly variable: string | undefined;

  constructor(message: string, variable?: string) {
    super(message);
    this.variable = variable;
  }
}

export type EnvironmentContext = {
  /** Default: the environment of this process. */
  readonly own?: NodeJS.ProcessEnv;
  /** Called for each env file with its malformed lines. */
  readonly onFaults?: (file: string, faults: readonly EnvFault[]) => void;
};

/** @throws {MissingVariableError} */
export function variablesOf(
  { envFile = [], env, cluster }: EnvironmentVariables,
  { own = process.env, onFaults }: EnvironmentContext = {},
): Record<string, string> {
  const files = envFile.map((entry) => {
    const { path: file, optional: isOptional = false } = typeof entry === "string" ? { path: entry } : entry;
    const { variables, faults } = readEnvFile(textOf(file, `its env file ${file}`, { key: '"envFile"', isOptional }));
    onFaults?.(file, faults);
    return variables;
  });
  const found = Object.fromEntries(files.flatMap(Object.entries<string>));
  const instance = instanceVariables(cluster);
  const lookUp = (name: string): string | undefined =>
    ownMember(found, name) ?? ownMember(instance, name) ?? ownMember(own, name);
  const given = Object.entries(env).map(([name, value]) => [name, valueFor(name, value, lookUp)] as const);
  const all = { ...found, ...Object.fromEntries(given) };
  for (const [name, value] of Object.entries(all))
    if (value.includes("\0"))
      throw new MissingVariableError(`its variable ${name} has a NUL byte in it, which no variable can hold`, name);
  return all;
}

/** The same for commands beside a run: if a file is missing by now, they run without the configured variables. */
export function variablesIfThere(variables: EnvironmentVariables): Record<string, string> {
  try {
    return variablesOf(variables);
  } catch (error) {
    if (error instanceof MissingVariableError) return {};
    throw error;
  }
}

function valueFor(name: string, value: VariableValue, lookUp: (name: string) => string | undefined): string {
  if (typeof value === "string") {
    const { text, missing } = expand(value, lookUp);
    if (missing.length > 0)
      throw new MissingVariableError(`its variable ${name} needs ${listed(missing)}; ${remedy(missing)}`, name);
    return text;
  }
  // Editors end files with a line end that is not part of the secret.
  if ("file" in value)
    return textOf(value.file, `the file ${value.file} of its variable ${name}`, {
      key: `"env.${name}"`,
      variable: name,
    }).replace(/\r?\n$/, "");
  const known = lookUp(value.env);
  if (known === undefined)
    throw new MissingVariableError(
      `its variable ${name} needs ${value.env}, which is not set; set it where procman is started`,
      name,
    );
  return known;
}

function listed(missing: readonly string[]): string {
  return missing.length === 1 ? `${missing[0]}, which is not set` : `${missing.join(" and ")}, which are not set`;
}

function remedy([name]: readonly string[]): string {
  if (name === PORT_OF_INSTANCE) return 'set "cluster.startPort"';
  return `set it in an "envFile" or where procman is started, or give a default: \${${name}:-…}`;
}

/** `key`: where it is named. `variable`: whose value it is. */
type FileUse = { readonly key: string; readonly isOptional?: boolean; readonly variable?: string };

/** `isOptional`: a missing file is an empty text. */
function textOf(file: string, what: string, { key, isOptional = false, variable }: FileUse): string {
  try {
    return readWhole(file).toString("utf8");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && isOptional) return "";
    if (code === "ENOENT")
      throw new MissingVariableError(`${what} does not exist; create it or correct ${key}`, variable);
    throw new MissingVariableError(
      `${what} can't be read: ${code === "EISDIR" ? "it is a folder" : message.replace(/^E[A-Z]+: /, "")}`,
      variable,
    );
  }
}

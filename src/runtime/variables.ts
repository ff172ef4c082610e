/** The variables that a process is given by its configuration: read anew for each run, so that nobody else keeps what is secret. */
import { readFileSync } from "node:fs";
import { type EnvFault, readEnvFile } from "../base/env-file.ts";
import { expand } from "../base/variables.ts";

/** A text in which `${NAME}` is filled in, what a file holds, or a variable of procman's own. */
export type Value = string | { readonly file: string } | { readonly env: string };

export type Variables = {
  /** Absolute; later ones override earlier ones. */
  readonly envFile?: readonly string[];
  readonly env: Readonly<Record<string, Value>>;
};

/** The run can't be started as things are. The message says what is the case, and never what a variable holds. */
export class Unlaunchable extends Error {
  override readonly name = "Unlaunchable";
}

export type Surroundings = {
  /** Default: the environment of this process. */
  readonly own?: NodeJS.ProcessEnv;
  /** Hears of each env file what is wrong with its lines, if anything. */
  readonly heard?: (file: string, faults: readonly EnvFault[]) => void;
};

/** @throws {Unlaunchable} */
export function variablesOf({ envFile = [], env }: Variables, { own = process.env, heard }: Surroundings = {}): Record<string, string> {
  const files = envFile.map((file) => {
    const { variables, faults } = readEnvFile(textOf(file, `its env file ${file}`, '"envFile"'));
    heard?.(file, faults);
    return variables;
  });
  const found: Record<string, string> = Object.assign({}, ...files);
  const lookUp = (name: string): string | undefined => found[name] ?? own[name];
  const given = Object.entries(env).map(([name, value]) => [name, valueFor(name, value, lookUp)] as const);
  const all = { ...found, ...Object.fromEntries(given) };
  for (const [name, value] of Object.entries(all))
    if (value.includes("\0")) throw new Unlaunchable(`its variable ${name} has a NUL byte in it, which no variable can hold`);
  return all;
}

function valueFor(name: string, value: Value, lookUp: (name: string) => string | undefined): string {
  if (typeof value === "string") {
    const { text, missing } = expand(value, lookUp);
    if (missing.length > 0) throw new Unlaunchable(`its variable ${name} needs ${listed(missing)}; ${remedy(missing)}`);
    return text;
  }
  // An editor ends each file with a line end, and no secret is meant to.
  if ("file" in value) return textOf(value.file, `the file ${value.file} of its variable ${name}`, `"env.${name}"`).replace(/\r?\n$/, "");
  const known = lookUp(value.env);
  if (known === undefined)
    throw new Unlaunchable(`its variable ${name} needs ${value.env}, which is not set; set it where procman is started`);
  return known;
}

function listed(missing: readonly string[]): string {
  return missing.length === 1 ? `${missing[0]}, which is not set` : `${missing.join(" and ")}, which are not set`;
}

function remedy([name]: readonly string[]): string {
  return `set it in an "envFile" or where procman is started, or give a default: \${${name}:-…}`;
}

function textOf(file: string, what: string, key: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new Unlaunchable(`${what} is not there; make it or correct ${key}`);
    throw new Unlaunchable(`${what} can't be read: ${code === "EISDIR" ? "it is a folder" : message.replace(/^E[A-Z]+: /, "")}`);
  }
}

/** The variables of a run, beyond those of procman's own environment. */
import { delimiter } from "node:path";
import { type EnvFault, readEnvFile } from "../../base/env-file.ts";
import { expand, ownMember } from "../../base/interpolate.ts";
import { DEFAULT_PORT_VARIABLE, instanceVariables, PORT_OF_INSTANCE } from "../../config/cluster-variables.ts";
import type { EnvFileSpec, ProcessSpec } from "../../config/spec.ts";
import { readWhole } from "../../os/careful-files.ts";
import { warn } from "../log-line.ts";
import type { ServiceLog } from "../service-log.ts";

/** Address and token with which a process reaches the API. */
export type ApiAccess = {
  /** Absent: the API has no port. */
  readonly address?: { readonly hostname: string; readonly port: number; readonly tls?: true };
  /** Path of its Unix socket, which only procman's own user can open. */
  readonly socket?: string;
  readonly token: string;
};

/** That of a process, by id; undefined: the API has neither port nor socket. */
export type AccessOfProcess = (id: string) => ApiAccess | undefined;

export type EnvironmentOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** Working directory. procman's own PWD names another folder. */
  readonly cwd: string;
  /** Folders appended to `PATH`. */
  readonly path: readonly string[];
  /** Folders in front of `PATH`. */
  readonly pathFirst?: readonly string[];
  readonly id: string;
  readonly marker: string;
  readonly stateDir: string;
  readonly cluster?: NonNullable<ProcessSpec["cluster"]>;
  readonly api?: ApiAccess;
};

export function environmentOf({
  env: { PATH, ...env },
  cwd,
  path: own,
  pathFirst = [],
  id,
  marker,
  stateDir,
  cluster,
  api,
}: EnvironmentOptions): Record<string, string> {
  // PATH of an env file; "path" and PATH in "env" are in `path` already.
  const path = [...own, ...(PATH === undefined ? [] : [PATH])];
  const port =
    cluster?.port === undefined ? {} : { [cluster.portVariable ?? DEFAULT_PORT_VARIABLE]: String(cluster.port) };
  const isChosen = cluster?.portVariable !== undefined;
  return {
    PWD: cwd,
    ...(isChosen ? {} : port),
    ...env,
    ...(path.length + pathFirst.length === 0
      ? {}
      : {
          PATH: [...pathFirst, ...(process.env.PATH === undefined ? [] : [process.env.PATH]), ...path].join(delimiter),
        }),
    PROCMAN_PROCESS_ID: id,
    PROCMAN_RUN_ID: marker,
    PROCMAN_DATA_DIR: stateDir,
    PROCMAN_RUN_DIR: `${stateDir}/run`,
    ...(api === undefined ? {} : accessVariables(api)),
    ...instanceVariables(cluster),
    ...(isChosen ? port : {}),
  };
}

function accessVariables({ address, socket, token }: ApiAccess): Record<string, string> {
  return {
    ...(address === undefined
      ? {}
      : { PROCMAN_API_HOSTNAME: address.hostname, PROCMAN_API_PORT: String(address.port) }),
    ...(address?.tls === true && { PROCMAN_API_PROTOCOL: "https" }),
    ...(socket === undefined ? {} : { PROCMAN_API_SOCKET: socket }),
    PROCMAN_API_TOKEN: token,
  };
}

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
    const { variables, faults } = readEnvFile(textOf(file, `its env file ${file}`, '"envFile"', isOptional));
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
      throw new MissingVariableError(`its variable ${name} has a NUL byte in it, which no variable can hold`);
  return all;
}

function valueFor(name: string, value: VariableValue, lookUp: (name: string) => string | undefined): string {
  if (typeof value === "string") {
    const { text, missing } = expand(value, lookUp);
    if (missing.length > 0)
      throw new MissingVariableError(`its variable ${name} needs ${listed(missing)}; ${remedy(missing)}`);
    return text;
  }
  // Editors end files with a line end that is not part of the secret.
  if ("file" in value)
    return textOf(value.file, `the file ${value.file} of its variable ${name}`, `"env.${name}"`).replace(/\r?\n$/, "");
  const known = lookUp(value.env);
  if (known === undefined)
    throw new MissingVariableError(
      `its variable ${name} needs ${value.env}, which is not set; set it where procman is started`,
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

/** `isOptional`: a missing file is an empty text. */
function textOf(file: string, what: string, key: string, isOptional = false): string {
  try {
    return readWhole(file).toString("utf8");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && isOptional) return "";
    if (code === "ENOENT") throw new MissingVariableError(`${what} does not exist; create it or correct ${key}`);
    throw new MissingVariableError(
      `${what} can't be read: ${code === "EISDIR" ? "it is a folder" : message.replace(/^E[A-Z]+: /, "")}`,
    );
  }
}

/** Most lines of one file that are logged: the file may be no env file at all. */
const MAX_LOGGED = 5;

/** Logs malformed lines of env files: once for all runs, and again when they change. */
export class EnvFileWarnings {
  readonly #log: Pick<ServiceLog, "write">;
  /** Faults that were logged last, by file. */
  readonly #logged = new Map<string, string>();

  constructor(log: Pick<ServiceLog, "write">) {
    this.#log = log;
  }

  report(slot: string, file: string, faults: readonly EnvFault[]): void {
    const state = JSON.stringify(faults);
    if (state === (this.#logged.get(file) ?? "[]")) return;
    this.#logged.set(file, state);
    for (const { line, problem } of faults.slice(0, MAX_LOGGED))
      this.#log.write(slot, warn(`${file}:${line} ${problem}`));
    if (faults.length > MAX_LOGGED)
      this.#log.write(slot, warn(`${faults.length - MAX_LOGGED} more lines of ${file} are malformed, too`));
  }
}

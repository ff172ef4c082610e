/** The environment of a run, beyond procman's own. */
import { delimiter } from "node:path";
import type { EnvFault } from "../../base/env-file.ts";
import { DEFAULT_PORT_VARIABLE, instanceVariables } from "../../config/cluster-variables.ts";
import type { ProcessSpec } from "../../config/spec.ts";
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
  /** Without a cluster. */
  readonly port?: number;
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
  port: portOfProcess,
  api,
}: EnvironmentOptions): Record<string, string> {
  // PATH of an env file; "path" and PATH in "env" are in `path` already.
  const path = [...own, ...(PATH === undefined ? [] : [PATH])];
  const number = cluster === undefined ? portOfProcess : cluster.port;
  const port = number === undefined ? {} : { [cluster?.portVariable ?? DEFAULT_PORT_VARIABLE]: String(number) };
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

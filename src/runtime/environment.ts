/** The variables of a run: what differs from the environment that `procman run` was given. */
import { delimiter } from "node:path";
import { fingerprint } from "../base/fingerprint.ts";

/** How a process reaches the API, to speak for itself. */
export type ApiAccess = { readonly hostname: string; readonly port: number; readonly token: string };

export type EnvironmentOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** Folders appended to `PATH`. */
  readonly path: readonly string[];
  readonly id: string;
  readonly marker: string;
  readonly stateDir: string;
  readonly cluster?: { readonly index: number; readonly port?: number };
  readonly api?: ApiAccess;
};

export function environmentOf({
  env: { PATH, ...env },
  path: own,
  id,
  marker,
  stateDir,
  cluster,
  api,
}: EnvironmentOptions): Record<string, string> {
  // That of an env file; what "path" and "env" say of it is in `path` already.
  const path = [...own, ...(PATH === undefined ? [] : [PATH])];
  return {
    ...env,
    ...(path.length === 0 ? {} : { PATH: [...(process.env.PATH === undefined ? [] : [process.env.PATH]), ...path].join(delimiter) }),
    PROCMAN_PROCESS_ID: id,
    PROCMAN_RUN_ID: marker,
    PROCMAN_DATA_DIR: stateDir,
    PROCMAN_RUN_DIR: `${stateDir}/run`,
    ...(api === undefined ? {} : { PROCMAN_API_HOSTNAME: api.hostname, PROCMAN_API_PORT: String(api.port), PROCMAN_API_TOKEN: api.token }),
    ...(cluster === undefined ? {} : { PROCMAN_CLUSTER_INSTANCE: String(cluster.index) }),
    ...(cluster?.port === undefined ? {} : { PROCMAN_CLUSTER_PORT: String(cluster.port) }),
  };
}

/**
 * `PROCMAN_RUN_ID`: names one run of one slot of one state folder. Every descendant that keeps its environment
 * carries it, also one that left the process group.
 */
export function markerOf(slot: string, run: number, stateDir: string): string {
  return `${slot}.${run}@${fingerprint(stateDir)}`;
}

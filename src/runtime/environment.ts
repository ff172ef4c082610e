/** The variables of a run: what differs from the environment that `procman run` was given. */
import { delimiter } from "node:path";
import { fingerprint } from "../base/fingerprint.ts";

export type EnvironmentOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** Folders appended to `PATH`. */
  readonly path: readonly string[];
  readonly id: string;
  readonly marker: string;
  readonly stateDir: string;
  readonly cluster?: { readonly index: number; readonly port?: number };
};

export function environmentOf({ env, path, id, marker, stateDir, cluster }: EnvironmentOptions): Record<string, string> {
  return {
    ...env,
    ...(path.length === 0 ? {} : { PATH: [...(process.env.PATH === undefined ? [] : [process.env.PATH]), ...path].join(delimiter) }),
    PROCMAN_PROCESS_ID: id,
    PROCMAN_RUN_ID: marker,
    PROCMAN_DATA_DIR: stateDir,
    PROCMAN_RUN_DIR: `${stateDir}/run`,
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

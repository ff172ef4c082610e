/** How a command with the surroundings of a process is started: by the service, or by `procman exec` on its terminal. */
import { existsSync } from "node:fs";
import { getPriority } from "node:os";
import { compact } from "../../base/compact.ts";
import { ProcmanError } from "../../base/errors.ts";
import { MissingVariableError, variablesOf } from "../../config/run-variables.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { ExecLaunch } from "../../contract/execution.ts";
import type { ApiAccess } from "./environment.ts";
import { wrapWithLimits } from "./exec-wrapper.ts";
import { execContextOf } from "./probing.ts";
import { credentialsOf } from "./run-identity.ts";
import { accessAs, unreachableFolder } from "./spawn-request.ts";

export type LaunchContext = {
  readonly config: Config;
  readonly command: readonly string[];
  /** Value of `PROCMAN_EXEC_ID`. */
  readonly marker: string;
  /** Niceness of the process that will start it. Default: that of this one. */
  readonly niceness?: number;
  readonly access: ApiAccess | undefined;
};

/** @throws {ProcmanError} `exec-failed` */
export function launchOf(spec: ProcessSpec, { config, command, marker, niceness, access }: LaunchContext): ExecLaunch {
  const { id, cwd, ulimits, umask, nice, oomScoreAdjust, ioNice, policy } = spec;
  if (!existsSync(cwd)) throw unstartable(id, unreachableFolder(cwd, config));
  const as = credentialsOf(spec);
  // `nice` is relative to the process that starts it.
  const difference = niceness === undefined ? 0 : getPriority() - niceness;
  const own = compact({ ulimits, umask, oomScoreAdjust, ioNice, nice: nice === undefined ? nice : nice + difference });
  const { env } = execContextOf(withoutPort(spec), config, accessAs(as, access), variablesIn(spec));
  const present = Object.entries({ ...env, PROCMAN_EXEC_ID: marker }).filter(([, value]) => value !== undefined);
  return {
    process: id,
    argv: wrapWithLimits(command, own),
    cwd,
    env: Object.fromEntries(present) as Record<string, string>,
    uid: as.uid ?? process.geteuid?.() ?? 0,
    gid: as.gid ?? process.getegid?.() ?? 0,
    terminateMs: policy.terminateMs,
  };
}

/** The process itself may be listening on it. */
function withoutPort({ cluster, port: _own, ...spec }: ProcessSpec): ProcessSpec {
  if (cluster === undefined) return spec;
  const { port: _port, portVariable: _variable, ...instance } = cluster;
  return { ...spec, cluster: instance };
}

function variablesIn(spec: ProcessSpec): Record<string, string> {
  try {
    return variablesOf(spec);
  } catch (error) {
    throw error instanceof MissingVariableError ? unstartable(spec.id, error.message) : error;
  }
}

function unstartable(id: string, why: string): ProcmanError {
  return new ProcmanError("exec-failed", `Cannot execute a command in "${id}": ${why}`);
}

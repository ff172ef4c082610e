/** Paths, arguments and environment of procman's internal programs. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { certificatesVariable } from "../os/certificates.ts";
import { monotonicMs } from "../os/clock.ts";
import { styleVariable } from "../os/error-output.ts";
import type { InheritedSockets } from "../os/inherited-sockets.ts";
import { failoverVariable } from "../os/keeper-failover.ts";
import { NO_DEBUGGER } from "../os/no-debugger.ts";
import { currentPath, presentPath } from "../os/package-place.ts";
import { startFolderVariable } from "../os/start-folder.ts";
import type { KeeperRunOptions } from "./keeper-options.ts";

export type Installation = { readonly node: string; readonly folder: string };

export function isInstallation({ node, folder }: Installation): boolean {
  return [
    node,
    ...["procman.cjs", "service.cjs", "logger.cjs", "balancer.cjs", "opener.cjs"].map((name) => join(folder, name)),
  ].every((path) => existsSync(path));
}

/** That of the version which the package manager has installed in its place. */
export function current({ node, folder }: Installation): Installation {
  return { node, folder: currentPath(folder) };
}

/** How this keeper was started. */
export type ProgramStart = {
  /** The installation of the keeper itself. */
  readonly installation: Installation;
  /** The arguments after `run`. */
  readonly args: readonly string[];
  readonly options: KeeperRunOptions;
  /** How many keepers in a row were started by failover. */
  readonly failovers: number;
  readonly lineage: string;
  /** State folder of the killed keeper that this one replaces. */
  readonly stateDir?: string;
  /** Listening sockets of that keeper. */
  readonly sockets: InheritedSockets;
};

/** `stateDir`: of the procman that it continues, which must work even if the configuration is not valid now. */
export function serviceProgram(
  { node, folder }: Installation,
  options: KeeperRunOptions,
  stateDir: string | undefined,
): readonly string[] {
  const { config, console, detached, watchConfig, ids = [], once, exitWith, profile } = options;
  const { front, except = [], watch = [] } = options;
  return [
    node,
    NO_DEBUGGER,
    presentPath(join(folder, "service.cjs")),
    ...(config === undefined ? [] : [`--config=${config}`]),
    ...(console ? ["--console"] : []),
    ...(detached ? ["--detached"] : []),
    ...(watchConfig ? ["--watch-config"] : []),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...(front === undefined ? [] : [`--front=${front}`]),
    ...ids.map((id) => `--only=${id}`),
    ...except.map((id) => `--except=${id}`),
    ...watch.map((id) => `--watch=${id}`),
    ...(once ? ["--once"] : []),
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
    ...(stateDir === undefined ? [] : [`--state-dir=${stateDir}`]),
  ];
}

export function loggerProgram({ node, folder }: Installation): readonly string[] {
  return [node, NO_DEBUGGER, presentPath(join(folder, "logger.cjs"))];
}

export function openerProgram({ node, folder }: Installation): readonly string[] {
  return [node, NO_DEBUGGER, presentPath(join(folder, "opener.cjs"))];
}

/** `socket`: path of its control socket. */
export function balancerProgram({ node, folder }: Installation, socket: string): readonly string[] {
  return [node, NO_DEBUGGER, presentPath(join(folder, "balancer.cjs")), `--socket=${socket}`];
}

/** Not for procman: an `--inspect` meant for an app; TLS certificates, which cost 30 ms of each start; the number of malloc arenas. */
const WITHHELD = ["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "MALLOC_ARENA_MAX"] as const;

/** glibc gives each thread an arena that keeps the memory V8's threads once needed: mallopt(3), M_ARENA_MAX. */
const SINGLE_ARENA = { MALLOC_ARENA_MAX: "1" } as const;

/** The environment of service and logger. They start another keeper when this one is killed, unless its parent does that. */
export function ownEnvironment(
  { args, options, failovers, lineage }: ProgramStart,
  { node, folder }: Installation,
): NodeJS.ProcessEnv {
  const env = { ...process.env };
  const withheld: Record<string, string> = {};
  for (const name of WITHHELD) {
    const value = env[name];
    delete env[name];
    if (value !== undefined) withheld[name] = value;
  }
  Object.assign(
    env,
    certificatesVariable(withheld.NODE_EXTRA_CA_CERTS),
    SINGLE_ARENA,
    startFolderVariable(),
    styleVariable(),
  );
  if (isGuarded(options)) return env;
  const argv = [node, NO_DEBUGGER, join(folder, "procman.cjs"), "run", ...args];
  return {
    ...env,
    ...failoverVariable({ argv, env: withheld, count: failovers, since: STARTED_AT, keeper: process.pid, lineage }),
  };
}

const STARTED_AT = monotonicMs();

/** systemd sets SYSTEMD_EXEC_PID to the pid it started: systemd.exec(5). */
function isGuarded({ guarded }: KeeperRunOptions): boolean {
  return guarded || process.env.SYSTEMD_EXEC_PID === String(process.pid) || process.pid === 1;
}

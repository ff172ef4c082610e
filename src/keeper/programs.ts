/** Where procman's programs lie, how they are started, and what they get of the environment. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { certificatesVariable } from "../os/certificates.ts";
import { monotonicMs } from "../os/clock.ts";
import type { InheritedSockets } from "../os/inherited-sockets.ts";
import { failoverVariable } from "../os/keeper-failover.ts";
import type { KeeperRunOptions } from "./keeper-options.ts";

export type Installation = { readonly node: string; readonly folder: string };

export function isInstallation({ node, folder }: Installation): boolean {
  return [node, ...["procman.cjs", "service.cjs", "logger.cjs", "balancer.cjs", "opener.cjs"].map((name) => join(folder, name))].every(
    (path) => existsSync(path),
  );
}

/** How this keeper was started. */
export type ProgramStart = {
  /** Where the keeper itself came from. */
  readonly installation: Installation;
  /** What followed the word `run`. */
  readonly args: readonly string[];
  readonly options: KeeperRunOptions;
  /** How many keepers in a row were started in place of a killed one. */
  readonly revivals: number;
  readonly lineage: string;
  /** Of the killed keeper that this one was started for. */
  readonly stateDir?: string;
  /** Of that one. */
  readonly sockets: InheritedSockets;
};

/** `stateDir`: of the run that it takes up, which must go on even if the configuration is not valid now. */
export function serviceProgram({ node, folder }: Installation, options: KeeperRunOptions, stateDir: string | undefined): readonly string[] {
  const { config, console, detached, watchConfig, exitWith, profile } = options;
  return [
    node,
    join(folder, "service.cjs"),
    ...(config === undefined ? [] : [`--config=${config}`]),
    ...(console ? ["--console"] : []),
    ...(detached ? ["--detached"] : []),
    ...(watchConfig ? ["--watch-config"] : []),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
    ...(stateDir === undefined ? [] : [`--state-dir=${stateDir}`]),
  ];
}

export function loggerProgram({ node, folder }: Installation): readonly string[] {
  return [node, join(folder, "logger.cjs")];
}

export function openerProgram({ node, folder }: Installation): readonly string[] {
  return [node, join(folder, "opener.cjs")];
}

/** `socket`: where it is spoken to. */
export function balancerProgram({ node, folder }: Installation, socket: string): readonly string[] {
  return [node, join(folder, "balancer.cjs"), `--socket=${socket}`];
}

/** An `--inspect` meant for an app must not reach procman; certificates for TLS would cost 30 ms of each start; heaps are procman's own choice. */
const WITHHELD = ["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "MALLOC_ARENA_MAX"] as const;

/** glibc gives each thread a heap, in which what V8's threads have needed once stays: mallopt(3), M_ARENA_MAX. */
const ONE_HEAP = { MALLOC_ARENA_MAX: "1" } as const;

/** The environment of service and logger. They start another keeper when this one is killed, unless somebody else does. */
export function ownEnvironment({ args, options, revivals, lineage }: ProgramStart, { node, folder }: Installation): NodeJS.ProcessEnv {
  const env = { ...process.env };
  const withheld: Record<string, string> = {};
  for (const name of WITHHELD) {
    const value = env[name];
    delete env[name];
    if (value !== undefined) withheld[name] = value;
  }
  Object.assign(env, certificatesVariable(withheld.NODE_EXTRA_CA_CERTS), ONE_HEAP);
  if (isGuarded(options)) return env;
  const argv = [node, join(folder, "procman.cjs"), "run", ...args];
  return { ...env, ...failoverVariable({ argv, env: withheld, count: revivals, since: STARTED, keeper: process.pid, lineage }) };
}

const STARTED = monotonicMs();

/** systemd tells whom it started: systemd.exec(5). */
function isGuarded({ guarded }: KeeperRunOptions): boolean {
  return guarded || process.env.SYSTEMD_EXEC_PID === String(process.pid) || process.pid === 1;
}

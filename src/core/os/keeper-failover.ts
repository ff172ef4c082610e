/** Keeper failover: if the keeper is killed, the service (or else the logger) starts another, which adopts the running processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { takeCertificates } from "./certificates.ts";
import { monotonicMs } from "./clock.ts";
import { printError, styleVariable } from "./error-output.ts";
import { type InheritedSockets, inheritance } from "./inherited-sockets.ts";
import { hasLock, holderOf } from "./lock.ts";
import { presentPath } from "./package-place.ts";
import { processStat } from "./process-stat.ts";
import { startFolder, startFolderVariable } from "./start-folder.ts";

/** How the keeper was started; its child processes get this in their environment. */
export type FailoverOrder = {
  readonly argv: readonly string[];
  /** Variables of the keeper that its child processes don't inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** Number of consecutive failovers after which the keeper ended within `STABLE_MS`. */
  readonly count: number;
  /** When this keeper was started, in monotonic milliseconds. */
  readonly since: number;
  /** Pid of the keeper. */
  readonly keeper: number;
  /** Identifies the keeper that the user started and all its replacements. */
  readonly lineage: string;
};

/** In the environment of the parts that start a keeper in place of a killed one. */
export const FAILOVER_VARIABLE = "PROCMAN_REVIVAL";
const COUNT = "PROCMAN_REVIVALS";
const STATE_DIR = "PROCMAN_REVIVAL_OF";
const LINEAGE = "PROCMAN_REVIVAL_LINEAGE";

/** Delays of consecutive failovers, in milliseconds; after the last one procman gives up. A keeper that ran for `STABLE_MS` resets the count. */
const DELAYS_MS = [0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
const STABLE_MS = 2_000;

/** Interval at which a waiting process checks whether another keeper was started. Milliseconds. */
const CHECK_MS = 50;

/**
 * An orderly end leaves an empty run folder and no lock; while it is under way, a file says so. No run folder means a
 * first start, or that a user removed it; an empty one beside a lock, that it was emptied, as by a cleaner of temporary
 * files.
 */
export function endedInOrder(stateDir: string): boolean {
  const run = join(stateDir, "run");
  if (!existsSync(run) || readdirSync(run).length > 0) return false;
  return !hasLock(stateDir) || existsSync(endingFile(stateDir));
}

/** File that exists while the keeper removes its records at an orderly end. */
export function endingFile(stateDir: string): string {
  return join(stateDir, "ending");
}

const KEEPER_SCRIPT = "procman.cjs";

/** Variable for procman's own processes. */
export function failoverVariable(revival: FailoverOrder): NodeJS.ProcessEnv {
  return { [FAILOVER_VARIABLE]: JSON.stringify(revival) };
}

/** undefined: this keeper is supervised by whatever started it, so there is no failover. */
export function takeFailoverOrder(): FailoverOrder | undefined {
  takeCertificates();
  // `keeper/programs.ts` sets it for procman's own processes alone.
  delete process.env.MALLOC_ARENA_MAX;
  const text = process.env[FAILOVER_VARIABLE];
  delete process.env[FAILOVER_VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as FailoverOrder);
}

/**
 * The order with the keeper of this part's installation: an upgrade begins a service with the order that names the one
 * before.
 *
 * @param script what this process runs, as `dist/service.cjs`
 */
export function fromInstallationOf(script: string, order: FailoverOrder): FailoverOrder {
  const [, ...rest] = order.argv;
  const place = rest.findIndex((each) => basename(each) === KEEPER_SCRIPT);
  const own = join(dirname(script), KEEPER_SCRIPT);
  if (place < 0 || !existsSync(own)) return order;
  return { ...order, argv: [process.execPath, ...rest.with(place, own)] };
}

/** In the keeper: its number in a row of failovers (0: a user started it), and whose processes it adopts. */
export function takeFailedOver(): { readonly failovers: number; readonly lineage: string; readonly stateDir?: string } {
  const { [COUNT]: count = "0", [STATE_DIR]: stateDir, [LINEAGE]: lineage } = process.env;
  for (const name of [COUNT, STATE_DIR, LINEAGE]) delete process.env[name];
  // In a container a pid may be the same after each start.
  const own = `${process.pid} ${processStat(process.pid)?.startTime ?? ""}`;
  return { failovers: Number(count), lineage: lineage ?? own, ...(stateDir === undefined ? {} : { stateDir }) };
}

/**
 * The new keeper inherits the old one's terminal. Resolves once it has started, could not be started (`failed`: the
 * machine has no room for it now), or is no longer needed.
 */
export async function startKeeper(
  revival: FailoverOrder,
  stateDir: string,
  sockets: InheritedSockets,
): Promise<"done" | "failed"> {
  try {
    return await startIfMissed(revival, stateDir, sockets);
  } catch (error) {
    reportOnce(
      `the keeper was killed, and its replacement could not be started: ${(error as Error).message}; procman tries again`,
    );
    return "failed";
  }
}

/** Rejects if it can't start now: no process, memory or file descriptor is free, or the state folder can't be written. */
async function startIfMissed(revival: FailoverOrder, stateDir: string, sockets: InheritedSockets): Promise<"done"> {
  const { argv, env, count, since, lineage } = revival;
  const next = monotonicMs() - since > STABLE_MS ? 0 : count;
  const delay = DELAYS_MS[next];
  if (delay === undefined) {
    printError(
      `the keeper ended ${count} times in a row and is not started again; the processes keep running without it. "procman run" adopts them`,
    );
    return "done";
  }
  for (const due = monotonicMs() + delay; monotonicMs() < due; await sleep(CHECK_MS))
    if (!isMissed(revival, stateDir)) return "done";
  if (!isMissed(revival, stateDir)) return "done";
  checkWritable(stateDir);
  const [program, ...args] = argv.map((each) => (basename(each) === KEEPER_SCRIPT ? presentPath(each) : each));
  const inherited = inheritance(sockets);
  const folder = startFolder();
  const child = spawn(program ?? "", args, {
    detached: true,
    // It leaves the folder. Its NODE_OPTIONS may have relative paths, with which Node starts.
    cwd: existsSync(folder) ? folder : "/",
    // Unused; other processes have their channel to the keeper there.
    stdio: ["ignore", "inherit", "inherit", "ignore", ...inherited.fds],
    env: {
      ...process.env,
      ...env,
      ...inherited.env,
      ...startFolderVariable(),
      ...styleVariable(),
      [COUNT]: String(next + 1),
      [STATE_DIR]: stateDir,
      [LINEAGE]: lineage,
    },
  });
  await once(child, "spawn");
  child.unref();
  return "done";
}

/** In a state folder without rights, or on a read-only disk, a keeper would only end again. @throws the system's error */
function checkWritable(stateDir: string): void {
  for (const folder of [stateDir, join(stateDir, "run")])
    if (existsSync(folder)) accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
}

let reported: string | undefined;

/** Not again with each further attempt. */
function reportOnce(problem: string): void {
  if (problem !== reported) printError(problem);
  reported = problem;
}

/** False if another process has started a keeper, which may already have ended in order. */
function isMissed({ keeper }: FailoverOrder, stateDir: string): boolean {
  const holder = holderOf(stateDir);
  // A killed process closes its channels before it counts as dead.
  return (holder === undefined || holder.pid === keeper) && !endedInOrder(stateDir);
}

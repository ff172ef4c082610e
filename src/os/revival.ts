/** A killed keeper comes back: its service, or else its logger, starts another that adopts what runs. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { dropArenas } from "./arenas.ts";
import { takeCertificates } from "./certificates.ts";
import { handedOn, type KeptSockets } from "./kept-sockets.ts";
import { holderOf } from "./lock.ts";
import { monotonicMs } from "./monotonic.ts";
import { processStat } from "./process-stat.ts";

/** How a keeper was started: told to its own processes by their environment. */
export type Revival = {
  readonly argv: readonly string[];
  /** Variables of the keeper that its own processes go without. */
  readonly env: Readonly<Record<string, string>>;
  /** How many keepers in a row were started in this way and ended soon. */
  readonly count: number;
  /** When this keeper was started; monotonic milliseconds. */
  readonly since: number;
  /** Its pid. */
  readonly keeper: number;
  /** Names the keeper that a user started, and all that came in its place. */
  readonly lineage: string;
};

const VARIABLE = "PROCMAN_REVIVAL";
const COUNT = "PROCMAN_REVIVALS";
const STATE_DIR = "PROCMAN_REVIVAL_OF";
const LINEAGE = "PROCMAN_REVIVAL_LINEAGE";

/** Delays of the revivals in a row, in milliseconds; after the last one nobody comes back. A life of `STABLE_MS` begins anew. */
const DELAYS_MS = [0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
const STABLE_MS = 2_000;

/** So often it is looked whether somebody else was quicker. Milliseconds. */
const LOOK_MS = 50;

/** An orderly end leaves an empty run folder. None at all is a first start, or somebody has removed it. */
export function endedInOrder(stateDir: string): boolean {
  const run = join(stateDir, "run");
  return existsSync(run) && readdirSync(run).length === 0;
}

/** What procman's own processes get beside the environment of the keeper. */
export function revivalVariable(revival: Revival): NodeJS.ProcessEnv {
  return { [VARIABLE]: JSON.stringify(revival) };
}

/** undefined: whoever started procman looks after it. */
export function takeRevival(): Revival | undefined {
  takeCertificates();
  dropArenas();
  const text = process.env[VARIABLE];
  delete process.env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as Revival);
}

/** In the keeper: which one in a row it is (0: a user started it), and whose processes it takes up. */
export function takeRevived(): { readonly revivals: number; readonly lineage: string; readonly stateDir?: string } {
  const { [COUNT]: count = "0", [STATE_DIR]: stateDir, [LINEAGE]: lineage } = process.env;
  for (const name of [COUNT, STATE_DIR, LINEAGE]) delete process.env[name];
  // A pid alone is the same after each start of a container.
  const own = `${process.pid} ${processStat(process.pid)?.startTime ?? ""}`;
  return { revivals: Number(count), lineage: lineage ?? own, ...(stateDir === undefined ? {} : { stateDir }) };
}

/** The keeper's terminal goes on to its successor. Resolves once that is started, can't be, or isn't wanted any more. */
export async function revive(revival: Revival, stateDir: string, sockets: KeptSockets): Promise<void> {
  const { argv, env, count, since, lineage } = revival;
  const next = monotonicMs() - since > STABLE_MS ? 0 : count;
  const delay = DELAYS_MS[next];
  if (delay === undefined) {
    process.stderr.write(
      `procman: the keeper has ended ${count} times in a row and is not started again; the processes run on without it. "procman run" takes them up\n`,
    );
    return;
  }
  for (const due = monotonicMs() + delay; monotonicMs() < due; await sleep(LOOK_MS)) if (!isMissed(revival, stateDir)) return;
  if (!isMissed(revival, stateDir)) return;
  const [program, ...args] = argv;
  const kept = handedOn(sockets);
  const child = spawn(program ?? "", args, {
    detached: true,
    // In place of the channel that other processes have.
    stdio: ["ignore", "inherit", "inherit", "ignore", ...kept.fds],
    env: { ...process.env, ...env, ...kept.env, [COUNT]: String(next + 1), [STATE_DIR]: stateDir, [LINEAGE]: lineage },
  });
  await new Promise<void>((resolve) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      process.stderr.write(`procman: the keeper was killed, and another could not be started: ${error.message}\n`);
      resolve();
    });
  });
  child.unref();
}

/** Somebody else may have started another keeper, and that may have ended everything in order. */
function isMissed({ keeper }: Revival, stateDir: string): boolean {
  const holder = holderOf(stateDir);
  // A killed process closes its channels before it counts as dead.
  return (holder === undefined || holder.pid === keeper) && !endedInOrder(stateDir);
}

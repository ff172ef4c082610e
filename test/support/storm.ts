/**
 * A cluster under load with rolling restarts, kills of instances and kills of the daemon:
 * only connections of killed instances may fail, and each failed request is attributed to its instance.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { signalIfThere } from "../../src/core/os/process-signal.ts";
import { api, clientOf, cluster, type Failure, isAccepting, LoadGenerator, waitForRecord } from "./cluster-rig.ts";
import { processExit as hasEnded } from "./procman-process.ts";

export const CLIENTS = 20;
const IDS = ["web-1", "web-2", "web-3"];
const ROLLS = 10;
/** Between two kills of an instance. Milliseconds. */
const KILL_MS = 3_000;
/** Before a refused rolling restart is requested again. Milliseconds. */
const AGAIN_MS = 100;
/** Time limit of a reset from the end of an instance to its client, on a busy machine. Milliseconds. */
const NOTICE_MS = 1_000;

/** From the signal until the last thread, and with it all sockets, is gone. Times are those of `performance.now`. */
type Kill = { readonly pid: number; readonly at: number; readonly over: number };

/** Numbers of a run. */
export type Account = {
  readonly requests: number;
  readonly runs: number;
  readonly failed: number;
  readonly kills: number;
  readonly rollingRestarts: number;
};

/** Rolling restarts, kills and load for this time. Rejects if a request failed that was not with a killed instance. */
export async function storm(context: TestContext, seconds: number): Promise<Account> {
  const notes = mkdtempSync(join(tmpdir(), "storm-"));
  // So that rolling restarts follow each other as quickly as kills do.
  const web = await cluster(context, {}, { NOTES: notes }, { minUptimeMs: 100 });
  // After the end of procman: until then its instances may write there.
  context.after(() => rmSync(notes, { recursive: true, force: true }));
  const state = join(web.procman.folder, ".procman/procman");
  for (const id of IDS) await waitForRecord(await api(web), id, isAccepting);
  const load = new LoadGenerator(context, web.port, CLIENTS);
  const end = performance.now() + seconds * 1_000;
  const kills: Kill[] = [];
  let rollingRestarts = 0;
  const activities = [
    repeated(end, (seconds * 1_000) / (ROLLS + 1), async () => {
      rollingRestarts += (await startRollingRestart(state, end)) ? 1 : 0;
    }),
    repeated(end, KILL_MS, async (turn) => {
      const kill = await killInstance(state, { id: IDS[turn % IDS.length] as string, end });
      if (kill !== undefined) kills.push(kill);
    }),
    killDaemon(web.procman, seconds),
  ];
  await Promise.all(activities);
  await load.stop();
  const readers = readersIn(notes);
  const inexcusable = load.failures.filter((failure) => !isExcused(failure, kills, readers));
  assert.deepEqual(
    inexcusable.map((failure) => ({ ...failure, reader: readers.get(failure.path) })),
    [],
    `kills: ${JSON.stringify(kills)}`,
  );
  return {
    requests: load.requests,
    runs: load.pids.size,
    failed: load.failures.length,
    kills: kills.length,
    rollingRestarts: rollingRestarts,
  };
}

/** The request was with a killed instance: by the notes of that, by the previous answer of the connection, or else by its time. */
function isExcused(
  { began, at, path, previousPid: before, error }: Failure,
  kills: readonly Kill[],
  readers: ReadonlyMap<string, number>,
): boolean {
  if (!/ECONNRESET|hang up|aborted/.test(error)) return false;
  const owner = readers.get(path) ?? before;
  const inTime = kills.filter((kill) => at >= kill.at && at <= kill.over + NOTICE_MS);
  // The first request of its connection, and not read by any instance: it waited in the kernel for the killed one.
  return owner === undefined ? inTime.some((kill) => began <= kill.over) : inTime.some(({ pid }) => pid === owner);
}

/** The pid that read each request, by path. */
function readersIn(folder: string): ReadonlyMap<string, number> {
  return new Map(
    readdirSync(folder).flatMap((pid) =>
      readFileSync(join(folder, pid), "utf8")
        .split("\n")
        .map((path) => [path, Number(pid)] as const),
    ),
  );
}

/** Kills first the keeper, then keeper and service at once. */
async function killDaemon(procman: Awaited<ReturnType<typeof cluster>>["procman"], seconds: number): Promise<void> {
  await sleep((seconds * 1_000) / 3);
  process.kill(procman.pid, "SIGKILL");
  const next = await procman.successor();
  await sleep((seconds * 1_000) / 3);
  const { pid: service } = JSON.parse(readFileSync(join(procman.stateDir, "endpoint.json"), "utf8")) as {
    readonly pid: number;
  };
  assert.ok(service > 1 && next > 1);
  process.kill(next, "SIGKILL");
  process.kill(service, "SIGKILL");
  await procman.successor(next);
}

/** Kills the instance as soon as it runs and a service answers; undefined: not before `end`. */
async function killInstance(
  state: string,
  { id, end }: { readonly id: string; readonly end: number },
): Promise<Kill | undefined> {
  for (; performance.now() < end; await sleep(AGAIN_MS)) {
    const pid = await requestIfUp(state, async (client) => (await client.process(id)).pid);
    if (pid === undefined || pid <= 1) continue;
    const at = performance.now();
    signalIfThere(pid, "SIGKILL");
    await hasEnded(pid);
    return { pid, at, over: performance.now() };
  }
  return undefined;
}

/** Whether a rolling restart was started; retried until `end`, as kills interfere. */
async function startRollingRestart(state: string, end: number): Promise<boolean> {
  for (; performance.now() < end; await sleep(AGAIN_MS))
    if ((await requestIfUp(state, (client) => client.act("web", "restart"))) !== undefined) return true;
  return false;
}

async function repeated(end: number, ms: number, activity: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0, due = performance.now() + ms; due < end; turn++, due += ms) {
    await sleep(Math.max(0, due - performance.now()));
    await activity(turn);
  }
}

/** The answer of the current service; undefined: it was killed meanwhile, or refuses a second rolling restart. */
async function requestIfUp<T>(state: string, ask: (client: Client) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(await clientOf(state));
  } catch (error) {
    if (error instanceof ProcmanError || (error as Error).name === "TypeError" || "code" in (error as Error))
      return undefined;
    throw error;
  }
}

/**
 * A cluster under load while everything happens to it: rolling restarts, kills of instances and of the daemon. Issue 5, "Speed":
 * only connections of killed instances may fail, and of each request that failed it is told whose it was.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../src/base/errors.ts";
import type { Client } from "../../src/client/client.ts";
import { signalIfThere } from "../../src/os/process-signal.ts";
import { api, clientOf, cluster, type Failure, isAccepting, LoadGenerator, waitForRecord } from "./cluster-rig.ts";
import { allThreadsExit as hasEnded } from "./procman.ts";

export const CLIENTS = 20;
const IDS = ["web-1", "web-2", "web-3"];
const ROLLS = 10;
/** Between two kills of an instance. Milliseconds. */
const KILL_MS = 3_000;
/** Before a roll that was refused, as another is under way, is asked for again. Milliseconds. */
const AGAIN_MS = 100;
/** A reset may need so long from the end of the instance to a client of a busy machine. Milliseconds. */
const NOTICE_MS = 1_000;

/** From the signal until the last thread is gone, and with it all sockets. Times are those of `performance.now`. */
type Kill = { readonly pid: number; readonly at: number; over: number };

/** How many were done of each. */
export type Account = {
  readonly requests: number;
  readonly runs: number;
  readonly failed: number;
  readonly kills: number;
  readonly rolls: number;
};

/** Rolls, kills and load for so long. Rejects when a request failed that was none of a killed instance's. */
export async function storm(context: TestContext, seconds: number): Promise<Account> {
  const notes = mkdtempSync(join(tmpdir(), "storm-"));
  context.after(() => rmSync(notes, { recursive: true, force: true }));
  const web = await cluster(context, {}, { NOTES: notes });
  const state = join(web.procman.folder, ".procman/procman");
  for (const id of IDS) await waitForRecord(await api(web), id, isAccepting);
  const load = new LoadGenerator(context, web.port, CLIENTS);
  const end = performance.now() + seconds * 1_000;
  const kills: Kill[] = [];
  let rolls = 0;
  const deeds = [
    repeated(end, (seconds * 1_000) / (ROLLS + 1), async () => {
      rolls += (await rolled(state, end)) ? 1 : 0;
    }),
    repeated(end, KILL_MS, (turn) => killInstance(state, IDS[turn % IDS.length] as string, kills)),
    killDaemon(web.procman, seconds),
  ];
  await Promise.all(deeds);
  await load.stop();
  const takers = takersIn(notes);
  const inexcusable = load.failures.filter((failure) => !isExcused(failure, kills, takers));
  assert.deepEqual(
    inexcusable.map((failure) => ({ ...failure, taker: takers.get(failure.path) })),
    [],
    `kills: ${JSON.stringify(kills)}`,
  );
  return { requests: load.requests, runs: load.pids.size, failed: load.failures.length, kills: kills.length, rolls };
}

/** It was with an instance that was killed: by what that had read, by who answered before, or, when nobody knows of it, by its time. */
function isExcused(
  { began, at, path, previousPid: before, error }: Failure,
  kills: readonly Kill[],
  takers: ReadonlyMap<string, number>,
): boolean {
  if (!/ECONNRESET|hang up|aborted/.test(error)) return false;
  const owner = takers.get(path) ?? before;
  const inTime = kills.filter((kill) => at >= kill.at && at <= kill.over + NOTICE_MS);
  // The first of its connection, and not read by anybody: it waited in the kernel for the one that was killed.
  return owner === undefined ? inTime.some((kill) => began <= kill.over) : inTime.some(({ pid }) => pid === owner);
}

/** Who read which request. */
function takersIn(folder: string): ReadonlyMap<string, number> {
  return new Map(
    readdirSync(folder).flatMap((pid) =>
      readFileSync(join(folder, pid), "utf8")
        .split("\n")
        .map((path) => [path, Number(pid)] as const),
    ),
  );
}

/** First the keeper, then keeper and service at once. */
async function killDaemon(procman: Awaited<ReturnType<typeof cluster>>["procman"], seconds: number): Promise<void> {
  await sleep((seconds * 1_000) / 3);
  process.kill(procman.pid, "SIGKILL");
  const next = await procman.successor();
  await sleep((seconds * 1_000) / 3);
  const { pid: service } = JSON.parse(readFileSync(join(procman.stateDir, "endpoint.json"), "utf8")) as { readonly pid: number };
  assert.ok(service > 1 && next > 1);
  process.kill(next, "SIGKILL");
  process.kill(service, "SIGKILL");
  await procman.successor(next);
}

async function killInstance(state: string, id: string, kills: Kill[]): Promise<void> {
  const pid = await asked(state, async (client) => (await client.process(id)).pid);
  if (pid === undefined || pid <= 1) return;
  const kill: Kill = { pid, at: performance.now(), over: Number.POSITIVE_INFINITY };
  kills.push(kill);
  signalIfThere(pid, "SIGKILL");
  await hasEnded(pid);
  kill.over = performance.now();
}

/** Whether a rolling restart was begun; tried until then, as kills interfere. */
async function rolled(state: string, end: number): Promise<boolean> {
  for (; performance.now() < end; await sleep(AGAIN_MS))
    if ((await asked(state, (client) => client.act("web", "restart"))) !== undefined) return true;
  return false;
}

async function repeated(end: number, ms: number, deed: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0, due = performance.now() + ms; due < end; turn++, due += ms) {
    await sleep(Math.max(0, due - performance.now()));
    await deed(turn);
  }
}

/** By whoever answers now; undefined: the service was killed meanwhile, or refuses as another roll is under way. */
async function asked<T>(state: string, ask: (client: Client) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(await clientOf(state));
  } catch (error) {
    if (error instanceof ProcmanError || (error as Error).name === "TypeError" || "code" in (error as Error)) return undefined;
    throw error;
  }
}

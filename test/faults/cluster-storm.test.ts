/**
 * A cluster under load while everything happens to it: rolling restarts, kills of instances and of the daemon. Issue 5, "Speed":
 * only connections of a killed instance may fail. `PROCMAN_STORM_SECONDS=60` makes it as long as it is there.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../src/base/errors.ts";
import type { Client } from "../../src/client/client.ts";
import { accepting, api, Crowd, clientOf, cluster, record } from "../cluster-rig.ts";

const SECONDS = Number(process.env.PROCMAN_STORM_SECONDS ?? 15);
const CLIENTS = 20;
const ROLLS = 10;
/** Between two kills of an instance. Milliseconds. */
const KILL_MS = 3_000;
/** A client may need so long to notice. Milliseconds. */
const NOTICE_MS = 1_000;

test(`${CLIENTS} clients flat out for ${SECONDS} s: only connections of killed instances fail, whatever is restarted or killed`, async (context) => {
  const web = await cluster(context);
  const { procman, port } = web;
  const state = join(procman.folder, ".procman/procman");
  for (const id of ["web-1", "web-2", "web-3"]) await record(await api(web), id, accepting);
  const crowd = new Crowd(port, CLIENTS);
  const kills: number[] = [];
  const end = performance.now() + SECONDS * 1_000;
  const isOver = (): boolean => performance.now() > end;
  const rolling = repeated(isOver, (SECONDS * 1_000) / ROLLS, () => asked(state, (client) => client.act("web", "restart")));
  const killing = repeated(isOver, KILL_MS, async (turn) => {
    const pid = await asked(state, async (client) => (await client.process(`web-${(turn % 3) + 1}`)).pid);
    if (pid === undefined || pid <= 1) return;
    kills.push(performance.now());
    process.kill(pid, "SIGKILL");
  });
  for (let kill = 0; kill < 2; kill++) {
    await sleep((SECONDS * 1_000) / 3);
    process.kill(kill === 0 ? procman.pid : await procman.successor(), "SIGKILL");
  }
  await Promise.all([rolling, killing]);
  await crowd.stop();
  const inexcusable = crowd.failures.filter(({ at }) => !kills.some((kill) => at >= kill && at < kill + NOTICE_MS));
  assert.deepEqual(inexcusable, []);
  assert.ok(crowd.errors.length <= kills.length * CLIENTS, `${crowd.errors.length} errors after ${kills.length} kills`);
  assert.ok(kills.length >= 2 && crowd.requests > SECONDS * 20, `${kills.length} kills, ${crowd.requests} requests`);
  console.error(`${crowd.requests} requests by ${crowd.pids.size} runs, ${crowd.errors.length} failed at ${kills.length} kills`);
});

async function repeated(isOver: () => boolean, ms: number, deed: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0; ; turn++) {
    await sleep(ms);
    if (isOver()) return;
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

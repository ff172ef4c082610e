/** Scaling a cluster of a running procman: docs/guide/clusters.md. */
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { type TestContext, test } from "node:test";
import type { Client } from "../../src/client/client.ts";
import { api, ask, type Cluster, cluster, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { isAlive, processExit } from "../support/procman-process.ts";

/** In the order of their numbers. */
async function pidsOf(client: Client): Promise<readonly number[]> {
  return ((await client.process("web")).instances ?? []).map(({ pid = 0 }) => pid);
}

/** Two instances that serve. */
async function pair(
  context: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<Cluster & { readonly client: Client }> {
  const web = await cluster(context, { instances: 2 }, env);
  const client = await api(web);
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  return { ...web, client };
}

test("no request fails while a cluster is scaled from 2 to 4 and down to 1; the remaining instance isn't touched", async (context) => {
  const { client, port } = await pair(context);
  const [first, second] = await pidsOf(client);
  const load = new LoadGenerator(context, port, 12);
  context.after(() => load.stop());
  const { instances = [] } = await client.scale("web", { instances: 4 }, { waitSeconds: 60 });
  assert.deepEqual(
    instances.map(({ id, status }) => `${id} ${status}`),
    ["web-1 running", "web-2 running", "web-3 running", "web-4 running"],
  );
  for (const id of ["web-3", "web-4"]) await waitForRecord(client, id, isAccepting);
  for (const pid of (await pidsOf(client)).slice(2))
    while (!load.pids.has(pid)) await ask(port).then((answered) => load.pids.add(answered));
  const { instances: left = [] } = await client.scale("web", { by: -3 }, { waitSeconds: 60 });
  assert.deepEqual(
    left.map(({ pid }) => pid),
    [first],
  );
  assert.ok(!isAlive(second ?? 0));
  for (let turn = 0; turn < 20; turn++) assert.equal(await ask(port), first);
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.ok(load.requests > 100, `${load.requests} requests`);
});

test("the number of instances survives kills of service and keeper, and no request fails", async (context) => {
  const { client, port, procman } = await pair(context, { LATE: "300" });
  const load = new LoadGenerator(context, port, 6);
  context.after(() => load.stop());
  // An accepted scaling is completed, whatever is killed right after.
  await client.scale("web", { instances: 4 });
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); restarting it/);
  const second = await api({ procman });
  for (const id of ["web-1", "web-2", "web-3", "web-4"]) await waitForRecord(second, id, isAccepting);
  const before = await pidsOf(second);
  await second.scale("web", { instances: 1 });
  process.kill(procman.helper("service"), "SIGKILL");
  for (const pid of before.slice(1)) await processExit(pid);
  const third = await api({ procman });
  await waitForRecord(third, "web", ({ instances = [] }) => instances.length === 1);
  await third.scale("web", { instances: 3 }, { waitSeconds: 60 });
  const now = await pidsOf(third);
  assert.deepEqual([now.length, now[0]], [3, before[0]]);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const last = await api({ procman });
  await waitForRecord(last, "web-3", isAccepting);
  assert.deepEqual(await pidsOf(last), now);
  await load.stop();
  assert.deepEqual(load.errors, []);
  await procman.stopHolder();
});

test("an instance that is being removed answers over its open connections, gets no new ones, and then ends", async (context) => {
  const { client, port } = await pair(context);
  const [first, second] = await pidsOf(client);
  assert.ok(first !== undefined && second !== undefined);
  const agents = [1, 2, 3, 4, 5, 6, 7, 8].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  context.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const answers = await Promise.all(agents.map((agent) => ask(port, agent)));
  const held = agents.filter((_, index) => answers[index] === second);
  assert.ok(held.length > 0, "the second instance has some connections");
  await client.scale("web", { instances: 1 });
  await waitForRecord(client, "web-2", ({ status }) => status === "stopping");
  for (let turn = 0; turn < 10; turn++) assert.equal(await ask(port), first);
  assert.ok(isAlive(second), "it waits for its connections");
  for (const agent of held) assert.equal(await ask(port, agent), second);
  // Before its SIGTERM it keeps its connections open.
  for (const agent of held) agent.destroy();
  await processExit(second);
});

test("with `terminateGracePeriod` a removed instance serves its open connections for that time, also when the service is killed meanwhile", async (context) => {
  const web = await cluster(context, { instances: 2 }, {}, { terminateGracePeriod: 5 });
  const { port, procman } = web;
  const client = await api(web);
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  const [first, second] = await pidsOf(client);
  assert.ok(first !== undefined && second !== undefined);
  const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  context.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const answers = await Promise.all(agents.map((agent) => ask(port, agent)));
  const held = agents.filter((_, index) => answers[index] === second);
  const startedAt = performance.now();
  await client.scale("web", { instances: 1 });
  await waitForRecord(
    client,
    "web-2",
    ({ status, reason }) => status === "stopping" && /has time to finish/.test(reason),
  );
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); restarting it/);
  const next = await api({ procman });
  await waitForRecord(next, "web-2", ({ status }) => status === "stopping");
  // After its SIGTERM it would end each connection with the first answer, and the other instance would give the second.
  for (const agent of [...held, ...held]) assert.equal(await ask(port, agent), second);
  for (let turn = 0; turn < 10; turn++) assert.equal(await ask(port), first);
  assert.ok(performance.now() - startedAt < 5_000, "the machine is too slow for this test");
  for (const agent of agents) agent.destroy();
  await processExit(second);
  assert.ok(performance.now() - startedAt >= 5_000);
  await waitForRecord(next, "web", ({ instances = [] }) => instances.length === 1);
});

test("after scaling up again, instances that were still being removed end and start again", async (context) => {
  const web = await cluster(context, { instances: 3 }, {}, { terminateGracePeriod: 1 });
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  const load = new LoadGenerator(context, web.port, 6);
  context.after(() => load.stop());
  await client.scale("web", { instances: 1 });
  await waitForRecord(client, "web-3", ({ status }) => status === "stopping");
  const { instances = [] } = await client.scale("web", { instances: 3 }, { waitSeconds: 30 });
  assert.deepEqual(
    instances.map(({ status }) => status),
    ["running", "running", "running"],
  );
  for (const pid of before.slice(1)) assert.ok(!isAlive(pid));
  assert.equal((await pidsOf(client))[0], before[0]);
  await client.act("web", "restart");
  await assert.rejects(client.scale("web", { instances: 2 }), {
    code: "roll-running",
    message: /a rolling restart of it is under way; wait for its end/,
  });
  await load.stop();
  assert.deepEqual(load.errors, []);
});

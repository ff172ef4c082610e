/** A front whose instances sleep: clients wait, and the first is reported. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import type { Front } from "../../src/core/ipc/balancer-protocol.ts";
import { type Context, echo, received, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { eventually } from "../support/procman-process.ts";

type Wake = NonNullable<Front["wake"]>;

const WAKE: Wake = { on: "connect", timeoutMs: 20_000 };

/** A balancer with a backend that echoes, and what puts its front to sleep. */
async function rig(context: Context, more: Partial<Wake> = {}, processes = 1) {
  const wake = { ...WAKE, ...more };
  const balancer = await TestBalancer.start(context, { wake }, processes);
  const backend = await TestBackend.start(context, "a", echo);
  const sleep = (): Promise<void> => balancer.serve([{ ...backend.spec, state: "down" }], { asleep: true });
  const waking = (count: number): Promise<true> =>
    eventually(() => (balancer.report?.waking === count ? true : undefined));
  return { balancer, backend, sleep, waking };
}

async function ended(client: Socket): Promise<void> {
  client.resume();
  await once(client, "end");
  client.end();
}

testBoth("clients of a front that sleeps wait with their bytes, and are served when it is up", async (context) => {
  const { balancer, backend, sleep, waking } = await rig(context, {}, 2);
  await sleep();
  const clients = await Promise.all(Array.from({ length: 20 }, () => balancer.client()));
  for (const [index, client] of clients.entries()) client.write(`hello ${index}`);
  await waking(20);
  const answers = Promise.all(clients.map(received));
  await balancer.serveUp([backend]);
  assert.deepEqual(
    await answers,
    clients.map((_, index) => `hello ${index}`),
  );
  await eventually(() => (balancer.report?.counted?.total === 20 ? true : undefined));
  assert.equal(balancer.report?.waking, 0);
  for (const client of clients) client.end();
  await eventually(() => (balancer.report?.counted?.connections === 0 ? true : undefined));
});

testBoth("with the first byte as its alarm, a client that says nothing wakes nobody", async (context) => {
  const { balancer, backend, sleep, waking } = await rig(context, { on: "data" });
  await sleep();
  const [silent, speaking] = [await balancer.client(), await balancer.client()];
  await eventually(() => (balancer.report?.waiting === 2 ? true : undefined));
  assert.equal(balancer.report?.waking, 0);
  speaking.write("hello");
  await waking(1);
  const answer = received(speaking);
  await balancer.serveUp([backend]);
  assert.equal(await answer, "hello");
  silent.end();
  speaking.end();
});

testBoth(
  "clients that are ignored are closed while it sleeps, and are served but don't count while it is awake",
  async (context) => {
    const { balancer, backend, sleep } = await rig(context, { ignore: ["127.0.0.0/8"] });
    await sleep();
    await ended(await balancer.client());
    assert.equal(balancer.report?.waking, 0);
    await balancer.serveUp([backend]);
    const client = await balancer.client();
    client.write("check");
    assert.equal(await received(client), "check");
    await eventually(() => (balancer.backend("a")?.connections === 1 ? true : undefined));
    assert.deepEqual(balancer.report?.counted, { connections: 0, total: 0 });
    client.end();
    await eventually(() => (balancer.backend("a")?.connections === 0 ? true : undefined));
  },
);

test("a client waits as long as the front says, and is turned away then", async (context) => {
  const { balancer, sleep } = await rig(context, { timeoutMs: 500 });
  await sleep();
  const began = performance.now();
  await assert.rejects(ended(await balancer.client()), { code: "ECONNRESET" });
  const waited = performance.now() - began;
  assert.ok(waited >= 500 && waited < 5_000, `${waited} ms`);
  await eventually(() => (balancer.report?.rejected === 1 && balancer.report.waking === 0 ? true : undefined));
});

test("what has come before a front is put to sleep is reported before that is confirmed", async (context) => {
  const { balancer, backend } = await rig(context, {}, 2);
  await balancer.serveUp([backend]);
  const client = await balancer.client();
  client.write("hello");
  assert.equal(await received(client), "hello");
  await balancer.serve([{ ...backend.spec, state: "draining" }], { asleep: true });
  assert.deepEqual(balancer.report?.counted, { connections: 1, total: 1 });
  client.end();
});

testBoth(
  "after a handoff the successor reports who waits with the old one, and that client is served",
  async (context) => {
    const { balancer, backend, sleep, waking } = await rig(context);
    backend.stop();
    await sleep();
    const client = await balancer.client();
    client.write("hello");
    await waking(1);
    assert.equal((await balancer.succeed()).t, "succeeded");
    await balancer.serviceComes();
    await eventually(() => (balancer.report?.waking === 1 ? true : undefined));
    const answer = received(client);
    await backend.listen();
    assert.equal(await answer, "hello");
    await balancer.serveUp([backend]);
    await waking(0);
    client.end();
  },
);

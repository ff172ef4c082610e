/** Long-lived connections migrate between the processes of the balancer. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Context, echo, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { EchoClient } from "../support/echo-client.ts";
import { eventually } from "../support/procman-process.ts";

const CLIENTS = 24;
/** Sockets of a connection: to the client and to the backend. */
const FILES = 2;

function files(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** All clients connect while one process is stopped, so that the other accepts them all. */
async function startUneven(context: Context, stopped: "first" | "second", tcp: NodeJS.ProcessEnv = {}) {
  const balancer = await TestBalancer.start(context, {}, 2, { tcp });
  const backends = [await TestBackend.start(context, "a", echo), await TestBackend.start(context, "b", echo)];
  await balancer.serveUp(backends);
  const second = Number(readFileSync(`/proc/${balancer.pid}/task/${balancer.pid}/children`, "utf8").trim());
  const pids = { first: balancer.pid, second };
  const idle = pids[stopped];
  const before = files(idle);
  process.kill(idle, "SIGSTOP");
  const clients: EchoClient[] = [];
  for (let count = 0; count < CLIENTS; count++) clients.push(new EchoClient(await balancer.client()));
  await eventually(() => (clients.every(({ rounds }) => rounds > 1) ? true : undefined));
  process.kill(idle, "SIGCONT");
  /** Resolves when the stopped process has that many connections. */
  const shared = (count: number) => eventually(() => (files(idle) >= before + FILES * count ? true : undefined));
  return { balancer, clients: clients, pids, idle, shared };
}

for (const stopped of ["first", "second"] as const)
  test(`the ${stopped} process gets its share of the other's connections, and neither side notices`, async (context) => {
    const { balancer, clients, shared } = await startUneven(context, stopped);
    await shared(CLIENTS / 4);
    const since = clients.map(({ rounds }) => rounds);
    await eventually(() =>
      clients.every(({ rounds }, index) => rounds > (since[index] ?? 0) + 20) ? true : undefined,
    );
    for (const client of clients) await client.end();
    assert.deepEqual(
      clients.flatMap(({ problem }) => problem ?? []),
      [],
    );
    const sum = (key: "connections" | "total" | "bytesIn" | "bytesOut"): number =>
      (balancer.report?.backends ?? []).reduce((all, backend) => all + backend[key], 0);
    await eventually(() => (sum("connections") === 0 ? true : undefined));
    const bytes = clients.reduce((all, client) => all + client.bytes, 0);
    assert.deepEqual([sum("total"), sum("bytesIn"), sum("bytesOut")], [CLIENTS, bytes, bytes], "each is counted once");
  });

test("connections between two worker processes migrate through the first process, and neither side notices", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 3);
  const backend = await TestBackend.start(context, "a", echo);
  await balancer.serveUp([backend]);
  const [second = 0, third = 0] = readFileSync(`/proc/${balancer.pid}/task/${balancer.pid}/children`, "utf8")
    .trim()
    .split(" ")
    .map(Number);
  assert.ok(second > 1 && third > 1);
  const before = files(third);
  for (const pid of [balancer.pid, third]) process.kill(pid, "SIGSTOP");
  const clients: EchoClient[] = [];
  for (let count = 0; count < CLIENTS; count++) clients.push(new EchoClient(await balancer.client()));
  await eventually(() => (clients.every(({ rounds }) => rounds > 1) ? true : undefined));
  for (const pid of [balancer.pid, third]) process.kill(pid, "SIGCONT");
  await eventually(() => (files(third) >= before + FILES * 3 ? true : undefined));
  const since = clients.map(({ rounds }) => rounds);
  await eventually(() => (clients.every(({ rounds }, index) => rounds > (since[index] ?? 0) + 20) ? true : undefined));
  for (const client of clients) await client.end();
  assert.deepEqual(
    clients.flatMap(({ problem }) => problem ?? []),
    [],
  );
  await eventually(() => (balancer.backend("a")?.connections === 0 ? true : undefined));
  assert.equal(balancer.backend("a")?.total, CLIENTS, "each is counted once");
});

test("a process that is killed while connections migrate to it takes none of those that the other still has", async (context) => {
  const { clients, pids, shared } = await startUneven(context, "second");
  await shared(1);
  process.kill(pids.second, "SIGKILL");
  await eventually(() => (clients.some(({ problem }) => problem !== undefined) ? true : undefined));
  const left = clients.filter(({ problem }) => problem === undefined);
  assert.ok(left.length >= CLIENTS / 3, `${left.length} are left`);
  const since = left.map(({ rounds }) => rounds);
  await eventually(() => (left.every(({ rounds }, index) => rounds > (since[index] ?? 0) + 20) ? true : undefined));
  for (const client of left) await client.end();
  assert.deepEqual(
    left.flatMap(({ problem }) => problem ?? []),
    [],
  );
});

test("where connections are limited none migrates: one process counts them", async (context) => {
  const balancer = await TestBalancer.start(context, { maxConnections: CLIENTS }, 2);
  const backend = await TestBackend.start(context, "a", echo);
  await balancer.serveUp([backend]);
  const second = Number(readFileSync(`/proc/${balancer.pid}/task/${balancer.pid}/children`, "utf8").trim());
  const before = files(second);
  const clients: EchoClient[] = [];
  for (let count = 0; count < CLIENTS / 2; count++) clients.push(new EchoClient(await balancer.client()));
  await eventually(() => (clients.every(({ rounds }) => rounds > 2_000) ? true : undefined));
  assert.equal(files(second), before);
  for (const client of clients) await client.end();
  assert.deepEqual(
    clients.flatMap(({ problem }) => problem ?? []),
    [],
  );
});

test("on node:net connections stay with the process that accepted them, and the reason for node:net is reported once", async (context) => {
  const { balancer, clients, idle } = await startUneven(context, "second", { PROCMAN_BALANCER_TCP: "net" });
  const before = files(idle);
  await eventually(() => (clients.every(({ rounds }) => rounds > 500) ? true : undefined));
  assert.equal(files(idle), before);
  for (const client of clients) await client.end();
  assert.deepEqual(
    clients.flatMap(({ problem }) => problem ?? []),
    [],
  );
  assert.equal(
    balancer.stderr,
    "procman: the load balancer uses node:net, which is slower: PROCMAN_BALANCER_TCP is net\n",
  );
});

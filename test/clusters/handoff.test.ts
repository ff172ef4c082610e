/** A balancer hands over to a successor, as in `procman upgrade`: no connection is lost or refused. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { isOwnSocket } from "../../src/core/os/balancer-socket.ts";
import { type Context, echo, received, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";

/** A client beside the six of the old balancer, whose further processes may accept for a moment after the handoff. */
async function clientOfSuccessor(balancer: TestBalancer): Promise<Socket> {
  for (;;) {
    const client = await balancer.client();
    client.write("new");
    assert.equal(await received(client), "new");
    await eventually(() => (balancer.backend("a")?.connections === 7 ? true : undefined));
    if (balancer.backend("a")?.total === 1) return client;
    client.end();
    await eventually(() => (balancer.backend("a")?.connections === 6 ? true : undefined));
  }
}

testBoth(
  "open connections stay with the old balancer, new ones come to the successor, and the old one ends with its last connection",
  async (context) => {
    const balancer = await TestBalancer.start(context, {}, 2);
    const backend = await TestBackend.start(context, "a", echo);
    await balancer.serveUp([backend]);
    const olds = await Promise.all(Array.from({ length: 6 }, () => balancer.client()));
    for (const [index, old] of olds.entries()) {
      old.write(`one ${index}`);
      assert.equal(await received(old), `one ${index}`);
    }
    const answer = await balancer.succeed();
    assert.equal(answer.t, "succeeded");
    await balancer.serviceComes();
    await eventually(() => (balancer.backend("a")?.accepting && balancer.backend("a")?.total === 0 ? true : undefined));
    const young = await clientOfSuccessor(balancer);
    assert.equal(balancer.process.exitCode, null);
    const ended = once(balancer.process, "exit");
    for (const old of olds) {
      old.write("two");
      assert.equal(await received(old), "two");
      old.end();
    }
    assert.deepEqual(await ended, [0, null]);
    young.write("still here");
    assert.equal(await received(young), "still here");
  },
);

testBoth(
  "connections that stay with old balancers count for maxConnections and in the report, also after two handoffs",
  async (context) => {
    const balancer = await TestBalancer.start(context, { maxConnections: 4 }, 2);
    await balancer.serveUp([await TestBackend.start(context, "a")]);
    const olds = await Promise.all(Array.from({ length: 3 }, () => balancer.client()));
    await Promise.all(olds.map(received));
    assert.equal((await balancer.succeed()).t, "succeeded");
    await balancer.serviceComes();
    await eventually(() => (balancer.backend("a")?.connections === 3 ? true : undefined));
    const fourth = await balancer.client();
    assert.equal(await received(fourth), "a");
    assert.equal((await balancer.succeed()).t, "succeeded");
    await balancer.serviceComes();
    const fifth = await balancer.client();
    await eventually(() =>
      balancer.report?.waiting === 1 && balancer.backend("a")?.connections === 4 ? true : undefined,
    );
    const answer = received(fifth);
    olds[0]?.end();
    assert.equal(await answer, "a");
    for (const client of [...olds, fourth]) client.end();
    await eventually(() => (balancer.backend("a")?.connections === 1 ? true : undefined));
  },
);

testBoth(
  "an idle timeout that is set after two handoffs applies to the connections of both old balancers too",
  async (context) => {
    const balancer = await TestBalancer.start(context, {}, 2);
    const backend = await TestBackend.start(context, "a");
    await balancer.serveUp([backend]);
    const idle: Socket[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const clients = await Promise.all(Array.from({ length: 6 }, () => balancer.client()));
      await Promise.all(clients.map(received));
      idle.push(...clients);
      assert.equal((await balancer.succeed()).t, "succeeded");
      await balancer.serviceComes();
    }
    await eventually(() => (balancer.backend("a")?.connections === 12 ? true : undefined));
    await balancer.serve([backend.spec], { idleMs: 200 });
    await eventually(() => (idle.every(({ readableEnded }) => readableEnded) ? true : undefined));
    await eventually(() => (balancer.backend("a")?.connections === 0 ? true : undefined));
  },
);

testBoth(
  "a balancer without clients stays between its successor and a predecessor that has some, and ends with that",
  async (context) => {
    const balancer = await TestBalancer.start(context, {}, 2);
    const backend = await TestBackend.start(context, "a");
    await balancer.serveUp([backend]);
    const olds = await Promise.all(Array.from({ length: 6 }, () => balancer.client()));
    await Promise.all(olds.map(received));
    const second = await balancer.succeed();
    await balancer.serviceComes();
    assert.equal((await balancer.succeed()).t, "succeeded");
    await balancer.serviceComes();
    await eventually(() => (balancer.backend("a")?.connections === 6 ? true : undefined));
    await balancer.serve([backend.spec], { idleMs: 200 });
    await eventually(() => (olds.every(({ readableEnded }) => readableEnded) ? true : undefined));
    assert.ok(second.t === "succeeded");
    await processExit(second.pid);
  },
);

testBoth("least-connections counts connections that stay with old balancers", async (context) => {
  const balancer = await TestBalancer.start(context, { strategy: "least-connections" }, 2);
  const backends = [];
  for (const id of ["a", "b", "c"]) backends.push(await TestBackend.start(context, id));
  await balancer.serveUp(backends.slice(0, 1));
  const olds = await Promise.all(Array.from({ length: 12 }, () => balancer.client()));
  await Promise.all(olds.map(received));
  assert.equal((await balancer.succeed()).t, "succeeded");
  await balancer.serviceComes();
  await balancer.serveUp(backends);
  await eventually(() => (balancer.backend("a")?.connections === olds.length ? true : undefined));
  const sum = (key: "connections" | "total"): number =>
    (balancer.report?.backends ?? []).reduce((all, backend) => all + backend[key], 0);
  // For a moment the further process of the old balancer may accept some.
  for (let count = olds.length + 1; sum("total") < 8; count++) {
    await received(await balancer.client());
    await eventually(() => (sum("connections") === count ? true : undefined));
  }
  // Each of the two processes gives "a" one more only when "b" and "c" have six each.
  assert.equal(balancer.backend("a")?.total, 0);
});

testBoth("a new limit counts the connections that all processes have already", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 3);
  const backend = await TestBackend.start(context, "a");
  await balancer.serveUp([backend]);
  const clients = await Promise.all(Array.from({ length: 12 }, () => balancer.client()));
  await Promise.all(clients.map(received));
  await eventually(() => (balancer.backend("a")?.connections === 12 ? true : undefined));
  await balancer.serve([backend.spec], { maxConnections: 12 });
  const next = await balancer.client();
  await eventually(() => (balancer.report?.waiting === 1 ? true : undefined));
  const answer = received(next);
  clients[0]?.end();
  assert.equal(await answer, "a");
});

testBoth("clients notice nothing of five handoffs in a row", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  await balancer.serveUp([await TestBackend.start(context, "a"), await TestBackend.start(context, "b")]);
  let [goesOn, count] = [true, 0];
  const crowd = Array.from({ length: 10 }, async () => {
    for (; goesOn; count++) assert.match(await balancer.who(), /^[ab]$/);
  });
  for (let turn = 0; turn < 5; turn++) {
    const before = count;
    assert.equal((await balancer.succeed()).t, "succeeded");
    await eventually(() => (count > before + 50 ? true : undefined));
  }
  goesOn = false;
  await Promise.all(crowd);
});

testBoth("a client that waits for a backend at the old balancer is served when one comes up", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  const backend = await TestBackend.start(context, "a");
  await balancer.serve([{ ...backend.spec, state: "down" }]);
  backend.stop();
  const waiting = await Promise.all(Array.from({ length: 8 }, () => balancer.client()));
  const answers = Promise.all(waiting.map(received));
  await eventually(() => (balancer.report?.waiting === 8 ? true : undefined));
  assert.equal((await balancer.succeed()).t, "succeeded");
  await backend.listen();
  assert.deepEqual(new Set(await answers), new Set(["a"]));
});

for (const [what, code, problem] of [
  ["ends at once", "process.exit(3)", /^it ended at once \(exit code 3\)$/],
  [
    "ends when it should accept clients",
    "process.send({ t: 'fit' }); process.on('message', () => process.exit(4))",
    /exit code 4/,
  ],
] as const)
  testBoth(`a successor that ${what}: the old balancer keeps running as before`, async (context) => {
    const balancer = await TestBalancer.start(context, {}, 2);
    await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
    const client = await balancer.client();
    const script = join(balancer.folder, "unfit.cjs");
    writeFileSync(script, code);
    const answer = await balancer.succeed(script);
    assert.ok(answer.t === "unsucceeded");
    assert.match(answer.problem, problem);
    for (const each of [client, await balancer.client()]) {
      each.write("on");
      assert.equal(await received(each), "on");
    }
    assert.equal((await balancer.succeed()).t, "succeeded");
  });

/** A client of the old balancer, which has a successor with this pid. */
async function succeeded(
  context: Context,
): Promise<{ readonly balancer: TestBalancer; readonly client: Socket; readonly pid: number }> {
  const balancer = await TestBalancer.start(context, {}, 2);
  await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
  const client = await balancer.client();
  client.write("one");
  assert.equal(await received(client), "one");
  const answer = await balancer.succeed();
  assert.ok(answer.t === "succeeded");
  return { balancer, client, pid: answer.pid };
}

testBoth(
  "when procman is stopped the old balancer gives its clients some seconds, and ends before its successor",
  async (context) => {
    const { balancer, client, pid } = await succeeded(context);
    const ended = once(balancer.process, "exit");
    const closed = once(client, "close");
    process.kill(pid, "SIGTERM");
    await eventually(() => (isOwnSocket(balancer.socket) ? undefined : true));
    client.write("two");
    assert.equal(await received(client), "two");
    await processExit(pid);
    assert.ok(!isAlive(balancer.pid));
    assert.deepEqual(await ended, [0, null]);
    assert.match(balancer.stderr, /the load balancer ends; 1 connection did not end within 5 s, and is closed/);
    client.end();
    await closed;
  },
);

testBoth(
  "an old balancer that hangs is killed by then; also one whose successor was killed and started anew",
  async (context) => {
    const { balancer, pid } = await succeeded(context);
    process.kill(pid, "SIGKILL");
    await processExit(pid);
    const restarted = await TestBalancer.launch(context, balancer.folder);
    await restarted.isControlled();
    const ended = once(balancer.process, "exit");
    balancer.process.kill("SIGSTOP");
    restarted.process.kill("SIGTERM");
    await processExit(restarted.pid);
    assert.ok(!isAlive(balancer.pid));
    assert.deepEqual(await ended, [null, "SIGKILL"]);
  },
);

for (const [from, to] of [
  ["handles of Node", "node:net"],
  ["node:net", "handles of Node"],
] as const)
  test(`a balancer on ${from} is succeeded by one on ${to}`, async (context) => {
    const environment = (name: string): NodeJS.ProcessEnv =>
      name === "node:net" ? { PROCMAN_BALANCER_TCP: "net" } : {};
    const balancer = await TestBalancer.start(context, {}, 2, { tcp: environment(from) });
    await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
    const old = await balancer.client();
    old.write("one");
    assert.equal(await received(old), "one");
    assert.equal((await balancer.succeed(undefined, environment(to))).t, "succeeded");
    const clients = await Promise.all(Array.from({ length: 10 }, () => balancer.client()));
    for (const each of [old, ...clients]) {
      each.write("two");
      assert.equal(await received(each), "two");
    }
  });

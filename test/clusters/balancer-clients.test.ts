/** Clients of the balancer that go away, or vanish. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { echo, received, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { eventually } from "../support/procman-process.ts";

testBoth(
  "clients that go while they wait give up their places, and no instance is connected for them",
  async (context) => {
    const balancer = await TestBalancer.start(context);
    let accepted = 0;
    const backend = await TestBackend.start(context, "a", (socket) => {
      accepted += 1;
      echo(socket);
    });
    await balancer.serve([{ ...backend.spec, state: "down" }]);
    const staying = await balancer.client();
    staying.write("hello");
    const asking = await balancer.client();
    asking.end("last words");
    const leaving = await Promise.all(Array.from({ length: 50 }, () => balancer.client()));
    const resetting = await balancer.client();
    resetting.write("request");
    await eventually(() => (balancer.report?.waiting === 53 ? true : undefined));
    for (const client of leaving) client.destroy();
    resetting.resetAndDestroy();
    await eventually(() => (balancer.report?.waiting === 2 ? true : undefined));
    assert.equal(balancer.report?.rejected, 0);
    const answers = Promise.all([staying, asking].map(received));
    await balancer.serveUp([backend]);
    assert.deepEqual(await answers, ["hello", "last words"]);
    if (!asking.readableEnded) await once(asking, "end");
    // Its health check is the one connection more.
    assert.equal(accepted, 3);
    staying.write("more");
    assert.equal(await received(staying), "more");
    assert.equal(balancer.backend("a")?.refused, 0);
  },
);

testBoth("clients that close at once, without having sent anything, leave no connection", async (context) => {
  const balancer = await TestBalancer.start(context);
  await balancer.serveUp([
    await TestBackend.start(context, "a", (socket) => void socket.on("end", () => socket.end()).resume()),
  ]);
  for (let turn = 0; turn < 10; turn++) (await balancer.client()).destroy();
  await eventually(() => {
    const { total, connections } = balancer.backend("a") ?? {};
    return total === 10 && connections === 0 ? true : undefined;
  });
});

test("with the PROXY protocol the header comes before what a client has sent while it waited", async (context) => {
  const balancer = await TestBalancer.start(context, { proxyProtocol: true });
  const texts: string[] = [];
  const backend = await TestBackend.start(context, "a", (socket) =>
    socket.on("data", (bytes) => texts.push(bytes.toString("latin1"))),
  );
  await balancer.serve([{ ...backend.spec, state: "down" }]);
  const client = await balancer.client();
  client.write("hello");
  await eventually(() => (balancer.report?.waiting === 1 ? true : undefined));
  await balancer.serveUp([backend]);
  await eventually(() => (texts.some((text) => /^\r\n\r\n\0\r\nQUIT\n!.{15}hello$/s.test(text)) ? true : undefined));
});

test("a client that resets after it has ended its stream is noticed although nothing is read from it", async (context) => {
  const balancer = await TestBalancer.start(context);
  // It answers the end of a stream never.
  await balancer.serveUp([await TestBackend.start(context, "a", (socket) => void socket.resume().write("a"))]);
  const clients = await Promise.all(Array.from({ length: 20 }, () => balancer.client()));
  await Promise.all(clients.map(received));
  for (const client of clients) client.end();
  await eventually(() => (balancer.backend("a")?.connections === 20 ? true : undefined));
  for (const client of clients) client.resetAndDestroy();
  await eventually(() => (balancer.backend("a")?.connections === 0 ? true : undefined));
});

testBoth("the kernel asks clients that send nothing whether they are still there", async (context) => {
  const balancer = await TestBalancer.start(context);
  await balancer.serveUp([await TestBackend.start(context, "a")]);
  const client = await balancer.client();
  assert.equal(await received(client), "a");
  const pairs = [balancer.port, client.localPort ?? 0].map(
    (port) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`,
  );
  // 02: a keep-alive timer, see proc(5).
  await eventually(() => {
    const lines = readFileSync("/proc/net/tcp", "latin1").split("\n");
    return lines.some(
      (line) => line.includes(`${pairs[0]} ${pairs[1]}`) && /^02:/.test(line.trim().split(/\s+/)[5] ?? ""),
    )
      ? true
      : undefined;
  });
});

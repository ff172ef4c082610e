/** What one process of the balancer reports. Backends and clients are tested with the whole balancer (test/integration). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { received, TestBackend } from "../../../test/support/balancer-rig.ts";
import { testBoth } from "../../../test/support/both-tcp.ts";
import type { Front } from "../ipc/balancer-protocol.ts";
import { tcpOf } from "./tcp-choice.ts";
import type { TcpHandle } from "./tcp-handle.ts";
import { Worker } from "./worker.ts";

const front: Front = {
  id: "web",
  hostname: "",
  port: 0,
  strategy: "round-robin",
  proxyProtocol: false,
  idleMs: 0,
  backends: [],
};

testBoth(
  "after the first client the load is measured soon, and reported at once if it is high",
  async (context, name) => {
    const tcp = tcpOf(name);
    let [share, since] = [0.9, performance.now()];
    context.mock.method(process, "cpuUsage", (before?: NodeJS.CpuUsage) => ({
      user: (performance.now() - since) * 1_000 * share - (before?.user ?? 0),
      system: 0,
    }));
    for (const [each, expected] of [
      [0.9, "reported"],
      [0.1, "not yet"],
    ] as const) {
      [share, since] = [each, performance.now()];
      let report = (_: string): void => undefined;
      const reported = new Promise<string>((resolve) => (report = resolve));
      const worker: Worker = new Worker(tcp, 0, () => worker.load.cpu > 0 && report("reported"));
      await worker.apply([front]);
      const server = await tcp.bind("127.0.0.1", 0);
      assert.equal(worker.listen(front.id, server), 0);
      const client = connect(server.port, "127.0.0.1").on("error", () => undefined);
      await once(client, "connect");
      assert.equal(await Promise.race([reported, sleep(200, "not yet")]), expected);
      client.destroy();
      worker.close();
      // The check that finds no client is the last.
      while (worker.clients > 0) await sleep(1);
    }
  },
);

test("connections that have migrated to a process count as its clients do: what exceeds its open files is turned away", async (context) => {
  const tcp = tcpOf("binding");
  const backend = await TestBackend.start(context, "a");
  const { port } = backend;
  let reported = (): void => undefined;
  // 64 files are spare, and each connection takes two.
  const worker = new Worker(tcp, 0, () => reported(), 64 + 2 * 4);
  const isAccepting = new Promise<void>(
    (resolve) => (reported = () => worker.reports[0]?.backends[0]?.accepting && resolve()),
  );
  await worker.apply([{ ...front, backends: [backend.spec] }]);
  await isAccepting;
  const server = await tcp.bind("127.0.0.1", 0);
  assert.equal(worker.listen(front.id, server), 0);
  const clients = [connect(server.port, "127.0.0.1")];
  const answers = [await received(clients[0] as Socket)];
  const connected = async (): Promise<TcpHandle> => {
    const socket = tcp.newSocket();
    assert.equal(await new Promise<number>((resolve) => tcp.connect(socket, "127.0.0.1", port, resolve)), 0);
    return socket;
  };
  for (let count = 0; count < 2; count++)
    worker.adopt({ front: front.id, backend: "a" }, { client: await connected(), backend: await connected() });
  for (let count = 0; count < 3; count++) {
    const client = connect(server.port, "127.0.0.1");
    clients.push(client);
    answers.push(await received(client));
  }
  assert.deepEqual(answers, ["a", "a", "", ""]);
  assert.deepEqual([worker.clients, worker.reports[0]?.rejected], [4, 2]);
  for (const client of clients) client.destroy();
  worker.close();
  backend.stop();
  while (worker.clients > 0) await sleep(1);
});

/** What one process of the balancer reports. Backends and clients are tested with the whole balancer (test/integration). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { testBoth } from "../../test/support/both-tcp.ts";
import type { Front } from "../ipc/balancer-protocol.ts";
import { tcpOf } from "./tcp-choice.ts";
import { Worker } from "./worker.ts";

const front: Front = { id: "web", hostname: "", port: 0, strategy: "round-robin", proxyProtocol: false, idleMs: 0, backends: [] };

testBoth("after the first client the load is measured soon, and reported at once if it is high", async (context, name) => {
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
});

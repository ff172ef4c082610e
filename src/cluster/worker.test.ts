/** What one process of the balancer tells of itself. Backends and clients are tested with the whole balancer (test/integration). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Front } from "../contract/balancer-protocol.ts";
import { newServer } from "./sockets.ts";
import { Worker } from "./worker.ts";

const front: Front = { id: "web", hostname: "", port: 0, strategy: "round-robin", proxyProtocol: false, idleMs: 0, backends: [] };

test("who comes all at once is looked at soon: how much there is to do is told before the next look, if it is much", async (context) => {
  let [share, since] = [0.9, performance.now()];
  context.mock.method(process, "cpuUsage", (before?: NodeJS.CpuUsage) => ({
    user: (performance.now() - since) * 1_000 * share - (before?.user ?? 0),
    system: 0,
  }));
  for (const [each, expected] of [
    [0.9, "told"],
    [0.1, "not yet"],
  ] as const) {
    [share, since] = [each, performance.now()];
    let tell = (_: string): void => undefined;
    const told = new Promise<string>((resolve) => (tell = resolve));
    const worker: Worker = new Worker(0, () => worker.load.cpu > 0 && tell("told"));
    await worker.apply([front]);
    const server = newServer();
    assert.equal(server.bind("127.0.0.1", 0), 0);
    assert.equal(worker.listen(front.id, server), 0);
    const own: { port?: number } = {};
    server.getsockname(own);
    const client = connect(own.port ?? 0, "127.0.0.1").on("error", () => undefined);
    await once(client, "connect");
    assert.equal(await Promise.race([told, sleep(200, "not yet")]), expected);
    client.destroy();
    worker.close();
    // The tick that finds nobody is the last.
    while (worker.clients > 0) await sleep(1);
  }
});

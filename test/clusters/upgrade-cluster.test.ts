/** `procman upgrade` with a cluster under load: docs/guide/clusters.md. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { UpgradeReport } from "../../src/core/ipc/upgrade-protocol.ts";
import { Journal } from "../../src/core/keeper/journal.ts";
import { balancerSocket } from "../../src/core/os/balancer-socket.ts";
import { homeOf, keeperIn } from "../support/cli.ts";
import { ask, clientOf, DRAINING_SERVER, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";
import { prepend, run, version } from "../support/versions.ts";

type Home = { readonly folder: string; readonly state: string; readonly port: number };

async function clusterIn(context: TestContext, more: object = {}): Promise<Home> {
  const [port, startPort] = [await freePort(), await freeRange()];
  const cluster = { instances: 2, startPort, commonPort: port };
  const web = { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restart: "always", cluster, ...more };
  return { ...homeOf(context, [web]), port };
}

async function allAccept(state: string): Promise<readonly ProcessRecord[]> {
  const client = await clientOf(state);
  return Promise.all(["web-1", "web-2"].map((id) => waitForRecord(client, id, isAccepting)));
}

/** Pid of the balancer that the control socket leads to. */
async function balancerPid(state: string): Promise<number> {
  const socket = connect(balancerSocket(state)).setEncoding("utf8");
  const [line] = (await once(socket, "data")) as [string];
  socket.destroy();
  return (JSON.parse(line.split("\n", 1)[0] ?? "") as { readonly pid: number }).pid;
}

/** Pid of the balancer in the records of the keeper, each of which can be read. */
function recordedBalancer({ state }: Home): number | undefined {
  // In the folder that it names.
  const copy = join(state, "run/journal-copy");
  copyFileSync(join(state, "run/journal"), copy);
  return new Journal(copy, assert.fail).state.balancer.current?.pid;
}

test("service, logger and balancer are replaced twice; no request fails, no instance is restarted", async (context) => {
  const home = await clusterIn(context);
  const { folder, state, port } = home;
  const [first, second] = [version(folder, "1.0.0"), version(folder, "1.1.0")];
  assert.equal((await run(first, folder, "run", "--detach")).code, 0);
  const before = await allAccept(state);
  const load = new LoadGenerator(context, port, 8);
  for (const [to, from] of [
    [second, "1.0.0"],
    [first, "1.1.0"],
  ] as const) {
    const upgraded = await run(to, folder, "upgrade", "--json");
    assert.equal(upgraded.code, 0, upgraded.err);
    const { steps } = JSON.parse(upgraded.out) as UpgradeReport;
    assert.deepEqual(
      steps.map(({ part, from: was, ok }) => [part, was, ok]),
      ["service", "logger", "balancer"].map((part) => [part, from, true]),
    );
    await allAccept(state);
    assert.equal(recordedBalancer(home), await balancerPid(state), "a later keeper adopts the new one");
    const { requests } = load;
    await eventually(() => (load.requests > requests + 50 ? true : undefined));
  }
  await load.stop();
  assert.deepEqual(load.errors, []);
  const after = await allAccept(state);
  assert.deepEqual(
    after.map(({ pid }) => pid),
    before.map(({ pid }) => pid),
  );
  assert.equal((await run(first, folder, "terminate")).code, 0);
  await assert.rejects(ask(port));
});

test("when `terminate` returns, the balancer of before the upgrade has ended, whatever clients it has", async (context) => {
  const { folder, state, port } = await clusterIn(context, { terminateTimeout: 1 });
  const procman = version(folder, "1.0.0");
  assert.equal((await run(procman, folder, "run", "--detach")).code, 0);
  await allAccept(state);
  const former = await balancerPid(state);
  // It keeps its end open.
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  context.after(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(client, "data");
  assert.equal((await run(procman, folder, "upgrade")).code, 0);
  assert.ok(isAlive(former) && former !== (await balancerPid(state)));
  assert.equal((await run(procman, folder, "terminate")).code, 0);
  assert.ok(!isAlive(former));
});

test("a new balancer that ends at once: the old one stays, the other components are replaced", async (context) => {
  const { folder, state, port } = await clusterIn(context);
  const old = version(folder, "1.0.0");
  const bad = version(folder, "1.1.0", (dist) => prepend(dist, "balancer.cjs", "process.exit(6);"));
  assert.equal((await run(old, folder, "run", "--detach")).code, 0);
  await allAccept(state);
  const load = new LoadGenerator(context, port, 4);
  const upgraded = await run(bad, folder, "upgrade");
  assert.equal(upgraded.code, 1);
  assert.match(upgraded.out, /^service +1\.0\.0 → 1\.1\.0 +replaced/m);
  assert.match(
    upgraded.err,
    /Cannot upgrade the balancer.*it ended at once \(exit code 6\); the old one keeps running/s,
  );
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.equal((await run(old, folder, "terminate")).code, 0);
});

test("a keeper that is killed while the balancer is replaced leaves one serving balancer, which is restarted when it is killed", async (context) => {
  const { folder, state, port } = await clusterIn(context);
  const old = version(folder, "1.0.0");
  // Slow enough for the keeper to be killed in between.
  const sleep = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)";
  const loading = join(folder, "loading");
  const code = `if (process.argv.includes("--successor")) { require("fs").writeFileSync(${JSON.stringify(loading)}, ""); ${sleep}; }`;
  const slow = version(folder, "1.1.0", (dist) => prepend(dist, "balancer.cjs", code));
  assert.equal((await run(old, folder, "run", "--detach")).code, 0);
  await allAccept(state);
  const keeper = keeperIn(state);
  const former = await balancerPid(state);
  const upgrading = run(slow, folder, "upgrade");
  await eventually(() => (existsSync(loading) ? true : undefined));
  assert.ok(keeper > 1);
  process.kill(keeper, "SIGKILL");
  assert.notEqual((await upgrading).code, 0);
  await processExit(former);
  await allAccept(state);
  assert.ok((await ask(port)) > 1);
  const pid = await balancerPid(state);
  assert.ok(pid > 1 && pid !== former);
  process.kill(pid, "SIGKILL");
  await processExit(pid);
  for (let isBack = false; !isBack; ) isBack = await ask(port).then(Boolean, () => false);
  assert.equal((await run(old, folder, "terminate")).code, 0);
});

/** Clusters that grow and shrink with real clients: docs/guide/autoscale.md. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Client } from "../../src/client/client.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import {
  api,
  type Cluster,
  clientOf,
  cluster,
  DRAINING_SERVER,
  isAccepting,
  LoadGenerator,
  waitForRecord,
} from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const SCALE = { min: 1, max: 6, targets: { connections: 4 }, upAfter: 1, downAfter: 2 };

/** Clients that say nothing. */
async function clients(context: TestContext, port: number, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.on("error", () => undefined);
  return sockets;
}

async function serving(
  context: TestContext,
  scale: object = {},
  instances = 1,
): Promise<Cluster & { readonly client: Client }> {
  const web = await cluster(context, { instances }, {}, { scale: { ...SCALE, ...scale } });
  const client = await api(web);
  for (let number = 1; number <= instances; number++) await waitForRecord(client, `web-${number}`, isAccepting);
  return { ...web, client };
}

const counted = ({ instances = [] }: ProcessRecord, count: number): boolean => instances.length === count;
const counts =
  (count: number) =>
  (record: ProcessRecord): boolean =>
    counted(record, count) && record.instances?.every(isAccepting) === true;

function procman({ folder }: Procman, ...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [BIN, ...args], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("a cluster grows with its clients and shrinks when they are gone; no request fails, and why says what was decided", async (context) => {
  const web = await serving(context);
  const { client, port } = web;
  const load = new LoadGenerator(context, port, 2);
  const held = await clients(context, port, 16);
  await waitForRecord(client, "web", counts(5));
  const [first = "", second = ""] = procman(web.procman, "why", "web").split("\n");
  assert.match(first, /^web is a cluster: 5 of 5 instances are running; common port .*; 1 to 6 by load\.$/);
  assert.match(second, /^\d -> 5 at .*: [\d.]+ connections an instance, more than 4 for 1 s\.$/);
  assert.match(await client.prometheus(), /^procman_scale_desired\{cluster="web"\} 5$/m);
  for (const socket of held) socket.destroy();
  const { scale } = await waitForRecord(client, "web", counts(1));
  assert.match(scale?.last?.reason ?? "", /an instance: 1 instance was enough for 2 s$/);
  await load.stop();
  assert.deepEqual(load.errors, []);
  await web.procman.line(/^web +\| scaled from 1 to \d/);
});

test("a number by hand pins the cluster, also through a kill of the service; auto lets its load decide again", async (context) => {
  const web = await serving(context);
  procman(web.procman, "scale", "web", "2");
  await clients(context, web.port, 16);
  process.kill(web.procman.helper("service"), "SIGKILL");
  await web.procman.line(/the service ended \(SIGKILL\); restarting it/);
  const client = await api(web);
  const { scale, reason } = await waitForRecord(client, "web", counts(2));
  assert.deepEqual([scale?.pinned, /; pinned to 2 by hand$/.test(reason)], [true, true]);
  assert.match(
    procman(web.procman, "why", "web"),
    /Its load changes nothing while it is pinned: "procman scale web auto"/,
  );
  procman(web.procman, "scale", "web", "auto");
  const grown = await waitForRecord(client, "web", counts(4));
  assert.equal(grown.scale?.pinned, undefined);
});

test("instances that crash are no reason to add more, and why names one of them", async (context) => {
  const [port, startPort] = [await freePort(), await freeRange()];
  const cmd = `[ "$PROCMAN_CLUSTER_INSTANCE" -lt 2 ] || exit 3; exec node ${DRAINING_SERVER}`;
  const running = await startProcman(context, [
    {
      id: "web",
      cmd,
      autostart: true,
      restart: "always",
      cluster: { instances: 1, startPort, commonPort: port },
      scale: { ...SCALE, step: 2 },
    },
  ]);
  const client = await api({ procman: running });
  await waitForRecord(client, "web-1", isAccepting);
  await clients(context, port, 24);
  const { scale, instances } = await waitForRecord(client, "web", ({ scale: now }) => now?.refused !== undefined);
  assert.match(
    scale?.refused?.reason ?? "",
    /^it would need \d, but web-3 does not stay up, and more would not either/,
  );
  assert.equal(instances?.length, 3);
  await running.line(/^web +\| stays at 3: it would need \d, but web-3/);
});

test("validate, plan and reload warn of more instances than memory allows, by what one uses now", async (context) => {
  const [held, most] = [Math.ceil(totalmem() / 1_000), 1_024];
  const configuration = (max: number): object => ({
    id: "web",
    cmd: `exec node -e "globalThis.held = Buffer.alloc(${held}, 1); setInterval(() => undefined, 1e6)"`,
    autostart: true,
    cluster: { instances: 1 },
    scale: { max, targets: { cpu: 70 } },
  });
  const running = await startProcman(context, [configuration(2) as never]);
  const client = await api({ procman: running });
  await waitForRecord(client, "web-1", ({ memoryBytes = 0 }) => memoryBytes > held);
  writeFileSync(join(running.folder, "procman.json"), JSON.stringify({ processes: [configuration(most)] }));
  for (const command of ["validate", "plan", "reload"]) {
    const { stderr } = spawnSync(process.execPath, [BIN, command], { cwd: running.folder, encoding: "utf8" });
    assert.match(stderr, /1024 instances of \S+ MB, which one uses now, need \S+ [GT]B, and \S+ GB are there/, command);
  }
});

test("growth that can't be carried out is one incident of the cluster, also through a kill of the service, until it has grown", async (context) => {
  const web = await serving(context);
  const { folder } = web.procman;
  const file = join(folder, "procman.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(/"id": ?"web"/, '$&, "stopSignal": "SIGINT"'));
  await clients(context, web.port, 12);
  const refusals = async (client: Client, isOver: boolean): Promise<readonly Incident[]> =>
    eventually(async () => {
      const incidents = (await client.incidents("web")).filter(({ cause }) => cause === "growth-refused");
      return incidents.length > 0 && (incidents[0]?.ended !== undefined) === isOver ? incidents : undefined;
    });
  const [begun, ...none] = await refusals(web.client, false);
  assert.deepEqual([begun?.process, none.length], ["web", 0]);
  assert.match(
    begun?.reason ?? "",
    /^stays at 1: Cannot scale "web" to 3 instances: its stopSignal in procman.json has changed; reload that first/,
  );
  assert.deepEqual(await web.client.incidents("web-1"), []);
  process.kill(web.procman.helper("service"), "SIGKILL");
  await web.procman.line(/the service ended \(SIGKILL\); restarting it/);
  const client = await api(web);
  // The new service has read the file.
  await waitForRecord(client, "web", counts(3));
  const [over, ...others] = await refusals(client, true);
  assert.deepEqual([over?.time, others.length], [begun?.time, 0]);
  assert.match(procman(web.procman, "why", "web"), /It was refused growth once in the last 24 hours/);
});

test("a cluster that sleeps without clients is woken by the first, and has shrunk meanwhile", async (context) => {
  const scale = { ...SCALE, min: 0, upAfter: 0.5 };
  const web = await cluster(context, { instances: 1 }, {}, { scale, idle: { after: 1 } });
  const client = await api(web);
  const asleep = ({ status }: ProcessRecord): boolean => status === "asleep";
  await waitForRecord(client, "web", (record) => asleep(record) && record.balancer !== undefined);
  const held = await clients(context, web.port, 12);
  await waitForRecord(client, "web", counts(3));
  for (const socket of held) socket.destroy();
  const { scale: size } = await waitForRecord(client, "web", (record) => asleep(record) && counted(record, 1));
  assert.match(size?.last?.reason ?? "", /^0 connections an instance: 1 instance was enough for 2 s$/);
  await clients(context, web.port, 1);
  await waitForRecord(client, "web", counts(1));
});

test("CPU that real programs use makes a cluster grow", async (context) => {
  const running = await startProcman(context, [
    {
      id: "burn",
      cmd: 'exec node -e "for (const end = Date.now() + 60_000; Date.now() < end; );"',
      autostart: true,
      cluster: { instances: 1 },
      scale: { min: 1, max: 2, targets: { cpu: 10 }, upAfter: 1 },
    },
  ]);
  const client = await api({ procman: running });
  const { scale } = await waitForRecord(client, "burn", ({ instances = [] }) => instances.length === 2);
  assert.match(scale?.last?.reason ?? "", /^\d+ % CPU an instance, more than 10 % for 1 s$/);
});

for (const point of [
  "service.decided",
  "service.sent",
  "keeper.noted",
  "keeper.asked",
  "keeper.forked",
] satisfies Failpoint[])
  test(`a kill at ${point}, between decision and deed: the cluster has what it decided, once`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "procman-points-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const arm = join(folder, "arm");
    const [port, startPort] = [await freePort(), await freeRange()];
    const running = await startProcman(
      context,
      [
        {
          id: "web",
          cmd: `node ${DRAINING_SERVER}`,
          autostart: true,
          restart: "always",
          cluster: { instances: 1, startPort, commonPort: port },
          scale: { ...SCALE, downAfter: 600 },
        },
      ],
      { env: { PROCMAN_FAILPOINTS: `${point}=${arm}` } },
    );
    const before = await api({ procman: running });
    const { instances: [{ pid } = {}] = [] } = await waitForRecord(before, "web", counts(1));
    await clients(context, port, 16);
    writeFileSync(arm, "");
    await eventually(() => (existsSync(arm) ? undefined : true));
    if (point.startsWith("keeper.")) await running.successor();
    const state = join(running.folder, ".procman/procman");
    const record = await eventually(async () => {
      const now = await clientOf(state)
        .then((each) => each.process("web"))
        .catch(() => undefined);
      return now !== undefined && counts(4)(now) ? now : undefined;
    });
    assert.equal(record.instances?.[0]?.pid, pid, "the first instance runs on");
    assert.equal(new Set(record.instances?.map((each) => each.pid)).size, 4);
    assert.equal(record.scale?.last?.to, 4);
    if (point.startsWith("keeper.")) await running.stopHolder();
  });

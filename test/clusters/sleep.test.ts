/** Processes that sleep without clients: docs/guide/sleep.md. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { busyPorts } from "../../src/core/os/listening-ports.ts";
import { api, ask, DRAINING_SERVER, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, isAlive, type Procman, startProcman } from "../support/procman-process.ts";

const GREETER = fileURLToPath(new URL("../programs/greet-first.mjs", import.meta.url));
const REPORT = {
  process: "web",
  cwd: "/",
  sent: new Date(0).toISOString(),
  memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
} as const;
/** Long enough not to fall asleep in a test. */
const LONG = 3_600;

type Sleeping = { readonly procman: Procman; readonly port: number; readonly client: Client };

/** A process on a free port; `idle`: fields beside the port. */
async function sleeping(context: TestContext, idle: object = {}, more: object = {}): Promise<Sleeping> {
  const port = await freePort();
  const web = { id: "web", cmd: `exec node ${DRAINING_SERVER}`, autostart: true, ...more };
  const procman = await startProcman(context, [{ ...web, idle: { port, after: LONG, ...idle } }]);
  await opened(port);
  return { procman, port, client: await api({ procman }) };
}

/** Resolves once the load balancer listens there; a connection would wake it. */
function opened(port: number): Promise<true> {
  return eventually(() => busyPorts().has(port) || undefined);
}

const isAsleep = ({ status }: ProcessRecord): boolean => status === "asleep";
const isUp = ({ status, backend }: ProcessRecord): boolean => status === "running" && backend?.accepting === true;

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Resolves once the port is closed: clients that have connected just before are reset. */
async function refused(port: number): Promise<void> {
  await eventually(async () => {
    const failed = await ask(port).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    return failed === "ECONNREFUSED" ? true : undefined;
  });
}

/** Resolves with the first answer, once the port is open. */
function answered(port: number): Promise<number> {
  return eventually(() => ask(port).catch(() => undefined));
}

test("a process begins asleep, its first client is served, without clients it sleeps again, and so on", async (context) => {
  const { port, client } = await sleeping(context, { after: 1 });
  const first = await waitForRecord(client, "web", isAsleep);
  assert.match(first.reason, new RegExp(`^sleeps since \\S+; a connection to 127\\.0\\.0\\.1:${port} wakes it$`));
  assert.deepEqual(first.sleep, { afterSeconds: 1, wakeOn: "connect", wakes: 0 });
  const pids = [await ask(port)];
  const awake = await client.process("web");
  assert.equal(awake.pid, pids[0]);
  assert.equal(awake.sleep?.wakes, 1);
  await waitForRecord(client, "web", isAsleep);
  assert.equal(isAlive(pids[0] as number), false);
  pids.push(await ask(port));
  assert.notEqual(pids[0], pids[1]);
  const { sleep } = await waitForRecord(client, "web", ({ sleep: known }) => known?.lastWakeMs !== undefined);
  assert.equal(sleep?.wakes, 2);
  const [incident] = await client.incidents("web", 1);
  assert.equal(incident?.cause, "idle");
});

test("a connection keeps it awake, and a file or a metric of its own, too", async (context) => {
  const { procman, port, client } = await sleeping(context, { after: 1, busyFile: "busy" });
  const open = await connected(port);
  await waitForRecord(client, "web", isUp);
  const file = join(procman.folder, "busy");
  writeFileSync(file, "");
  open.destroy();
  const { sleep } = await waitForRecord(client, "web", ({ sleep: known }) => known?.busy !== undefined);
  assert.equal(sleep?.busy, `${file} exists`);
  await client.telemetry({ ...REPORT, metrics: { busy: 1 } });
  rmSync(file);
  await waitForRecord(client, "web", ({ sleep: known }) => known?.busy === "it reports that it is busy");
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); restarting it/);
  const next = await api({ procman });
  await waitForRecord(next, "web", ({ sleep: known }) => known?.busy === "it reports that it is busy");
  await next.telemetry({ ...REPORT, metrics: { busy: 0 } });
  await waitForRecord(next, "web", isAsleep);
});

test("a thousand clients that come while it wakes are all served", async (context) => {
  const { port } = await sleeping(context, {}, { env: { LATE: 1_000 } });
  const pids = await Promise.all(Array.from({ length: 1_000 }, () => ask(port)));
  assert.equal(new Set(pids).size, 1);
});

test("all instances of a cluster wake with its first client, and sleep together", async (context) => {
  const [port, startPort] = [await freePort(), await freeRange()];
  const web = { id: "web", cmd: `exec node ${DRAINING_SERVER}`, autostart: true, idle: { after: 1 } };
  const procman = await startProcman(context, [{ ...web, cluster: { instances: 3, startPort, commonPort: port } }]);
  const client = await api({ procman });
  await waitForRecord(client, "web", isAsleep);
  await opened(port);
  await ask(port);
  const { instances = [] } = await waitForRecord(client, "web", ({ status }) => status === "running");
  assert.equal(instances.length, 3);
  const { reason } = await waitForRecord(client, "web", isAsleep);
  assert.match(reason, new RegExp(`^sleeps since \\S+; a connection to 127\\.0\\.0\\.1:${port} wakes it$`));
});

test("a client that waits for the server to speak gets its greeting", async (context) => {
  const { port } = await sleeping(context, {}, { cmd: `exec node ${GREETER}`, env: { LATE: 300 } });
  const client = await connected(port);
  client.setEncoding("utf8");
  assert.deepEqual(await once(client, "data"), ["220 ready\r\n"]);
  client.write("QUIT\r\n");
  assert.deepEqual(await once(client, "data"), ["250 ok\r\n"]);
  client.destroy();
});

test("a scan of its port wakes it, unless it waits for the first byte", async (context) => {
  const { port, client } = await sleeping(context, { wakeOn: "data" });
  for (let count = 0; count < 5; count++) (await connected(port)).destroy();
  const silent = await connected(port);
  await waitForRecord(client, "web", ({ balancer }) => balancer?.waiting === 1);
  assert.equal((await client.process("web")).status, "asleep");
  const pid = await ask(port);
  assert.equal((await waitForRecord(client, "web", isUp)).pid, pid);
  silent.destroy();
  const other = await sleeping(context);
  (await connected(other.port)).destroy();
  await waitForRecord(other.client, "web", ({ status }) => status === "running");
});

test("a client that comes during the stop is served by the next run", async (context) => {
  const cmd = `node -e 'require("http").createServer((q, r) => r.end(process.pid + "\\n")).listen(process.env.PORT, "127.0.0.1"); process.on("SIGTERM", () => setTimeout(() => process.exit(), 700))'`;
  const { port, client } = await sleeping(context, { after: 1 }, { cmd });
  const first = await ask(port);
  await waitForRecord(client, "web", ({ status }) => status === "stopping");
  const second = await ask(port);
  assert.notEqual(first, second);
});

test("a client that waits longer than the limit is turned away, and why says so", async (context) => {
  const { procman, port, client } = await sleeping(context, { wakeTimeout: 1 }, { cmd: "exec sleep 1000" });
  await assert.rejects(ask(port), { code: "ECONNRESET" });
  await procman.line(/web +\| a client was turned away: it did not come up \(idle\.wakeTimeout: 1 s\)/);
  const { reason } = await client.process("web");
  assert.match(reason, /a client was turned away: it did not come up/);
});

test("a stop and a block close the port; a start and the end of the block open it", async (context) => {
  const { port, client } = await sleeping(context);
  await client.act("web", "block");
  await waitForRecord(client, "web", ({ blocked }) => blocked);
  await refused(port);
  assert.equal((await client.process("web")).status, "asleep");
  await client.act("web", "unblock");
  const pid = await answered(port);
  await client.act("web", "stop", { waitSeconds: 30 });
  await refused(port);
  await client.act("web", "start", { waitSeconds: 30 });
  assert.notEqual(await ask(port), pid);
});

test("checks of a load balancer in front neither wake it nor keep it awake", async (context) => {
  const { port, client } = await sleeping(context, { after: 1, ignore: ["127.0.0.2"] });
  const check = (): Promise<boolean> =>
    new Promise((resolve) => {
      get({ port, host: "127.0.0.1", localAddress: "127.0.0.2", agent: false }, (answer) => {
        answer.resume().once("end", () => resolve(true));
      }).once("error", () => resolve(false));
    });
  assert.equal(await check(), false);
  assert.equal((await client.process("web")).status, "asleep");
  await ask(port);
  assert.equal(await check(), true);
  while ((await client.process("web")).status !== "asleep") await check();
  assert.equal(await check(), false);
});

test("a dependent's start wakes what it depends on, and one for which its port is enough doesn't", async (context) => {
  const port = await freePort();
  const db = { id: "db", cmd: `exec node ${DRAINING_SERVER}`, autostart: true, idle: { port, after: LONG } };
  const procman = await startProcman(context, [
    db,
    { id: "near", cmd: "exec sleep 1000", dependsOn: [{ id: "db", condition: "reachable" }] },
    { id: "far", cmd: "exec sleep 1000", dependsOn: ["db"] },
  ]);
  const client = await api({ procman });
  await client.act("near", "start", { waitSeconds: 30 });
  assert.equal((await client.process("db")).status, "asleep");
  await client.act("far", "start", { waitSeconds: 30 });
  assert.equal((await client.process("db")).status, "running");
});

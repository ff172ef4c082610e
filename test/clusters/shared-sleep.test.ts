/** Clusters with a shared socket that sleep without clients: docs/guide/sleep.md. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { Client } from "../../src/client/client.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { busyPorts } from "../../src/core/os/listening-ports.ts";
import { api, ask, DRAINING_SERVER, waitForRecord } from "../support/cluster-rig.ts";
import { freePort } from "../support/free-ports.ts";
import { eventually, isAlive, type Procman, startProcman } from "../support/procman-process.ts";

/** Long enough not to fall asleep in a test. */
const LONG = 3_600;
const DRAINING = `node ${DRAINING_SERVER}`;
/** Has no handler for SIGTERM. Each answer takes SLOW milliseconds; `echo` sends back what comes after an upgrade. */
const PLAIN = `node -e 'require("http").createServer((request, response) => setTimeout(() => response.end(process.pid + "\\n"), process.env.SLOW)).on("upgrade", (request, socket) => { socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n"); socket.pipe(socket); }).listen(8080)'`;

type Sleeping = { readonly procman: Procman; readonly port: number; readonly client: Client };

async function sleeping(context: TestContext, idle: object = {}, more: object = {}): Promise<Sleeping> {
  const port = await freePort();
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: DRAINING,
      node: true,
      autostart: true,
      restart: "always",
      cluster: { instances: 2, mode: "share", commonPort: port },
      idle: { after: LONG, ...idle },
      ...more,
      env: { PORT: "8080", SLOW: "0", ...(more as { readonly env?: object }).env },
    },
  ]);
  await opened(port);
  return { procman, port, client: await api({ procman }) };
}

/** Resolves once the socket is open; a connection would wake it. */
function opened(port: number): Promise<true> {
  return eventually(() => busyPorts().has(port) || undefined);
}

const isAsleep = ({ status }: ProcessRecord): boolean => status === "asleep";
const isUp = ({ status }: ProcessRecord): boolean => status === "running";

async function refused(port: number): Promise<void> {
  await eventually(() => (busyPorts().has(port) ? undefined : true));
  await assert.rejects(ask(port), /ECONNREFUSED/);
}

test("a cluster begins asleep, its first client is served, without clients it sleeps again, and so on", async (context) => {
  const { port, client } = await sleeping(context, { after: 1 });
  const first = await waitForRecord(client, "web", isAsleep);
  assert.match(first.reason, new RegExp(`^sleeps since \\S+; a connection to 127\\.0\\.0\\.1:${port} wakes it$`));
  assert.deepEqual(first.sleep, { afterSeconds: 1, wakeOn: "connect", wakes: 0 });
  const pids: number[] = [];
  for (const wakes of [1, 2, 3]) {
    const pid = await ask(port);
    assert.ok(!pids.includes(pid));
    pids.push(pid);
    const { sleep } = await waitForRecord(client, "web", ({ sleep: now }) => now?.lastWakeMs !== undefined);
    assert.equal(sleep?.wakes, wakes);
    await waitForRecord(client, "web", isAsleep);
    assert.equal(isAlive(pid), false);
  }
  const [incident] = await client.incidents("web-1", 1);
  assert.equal(incident?.cause, "idle");
});

test("a kept connection and an upgraded one keep it awake, until they end", async (context) => {
  const { port, client } = await sleeping(context, { after: 1 }, { cmd: PLAIN });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const pid = await ask(port, agent);
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  await once(socket, "data");
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(await ask(port, agent), pid);
  }
  agent.destroy();
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    socket.write("echo");
    assert.equal(String((await once(socket, "data"))[0]), "echo");
  }
  assert.equal((await client.process("web")).status, "running");
  socket.destroy();
  await waitForRecord(client, "web", isAsleep);
});

test("a thousand clients that come while it wakes are all served, at its first start and later", async (context) => {
  const { port, client } = await sleeping(context, { after: 1 }, { env: { LATE: 1_000 } });
  for (let turn = 0; turn < 2; turn += 1) {
    const pids = await Promise.all(Array.from({ length: 1_000 }, () => ask(port)));
    assert.equal(pids.filter((pid) => pid > 0).length, 1_000);
    await waitForRecord(client, "web", isAsleep);
  }
});

test("a client that an instance accepts while it is asked to end is served by it, later ones by the next run", async (context) => {
  const { procman, port, client } = await sleeping(context, { after: 1 }, { cmd: PLAIN, env: { SLOW: "700" } });
  const before = await ask(port);
  const { instances = [] } = await waitForRecord(client, "web", isUp);
  const former = instances.map(({ pid }) => pid);
  assert.ok(former.includes(before));
  // The keeper sends no signal: what the service has decided is not done yet.
  process.kill(procman.pid, "SIGSTOP");
  try {
    await waitForRecord(client, "web", ({ status }) => status === "stopping");
    const [late, upgraded] = [ask(port), connect(port, "127.0.0.1")];
    upgraded.write("GET / HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    await once(upgraded, "data");
    process.kill(procman.pid, "SIGCONT");
    assert.ok(former.includes(await late));
    upgraded.end("echo");
    assert.equal(String((await once(upgraded, "data"))[0]), "echo");
  } finally {
    process.kill(procman.pid, "SIGCONT");
  }
  const next = await ask(port);
  assert.ok(!former.includes(next));
});

test("clients that come while it falls asleep, again and again, are neither refused nor reset", async (context) => {
  const { port, client } = await sleeping(context, { after: 1 }, { cmd: PLAIN });
  const pids = new Set<number>();
  for (let turn = 0; turn < 25; turn += 1) {
    pids.add(await ask(port));
    await new Promise((resolve) => setTimeout(resolve, 985 + 2 * turn));
    for (const pid of await Promise.all(Array.from({ length: 5 }, () => ask(port)))) pids.add(pid);
  }
  const { sleep } = await client.process("web");
  assert.ok(pids.size > 2 && (sleep?.wakes ?? 0) > 2, `${pids.size} pids, ${sleep?.wakes} wakes`);
});

test("instances that count no clients stay awake, and why says so", async (context) => {
  const { procman, client } = await sleeping(
    context,
    { after: 1 },
    { cmd: "node -e 'setInterval(() => undefined, 1000)'" },
  );
  await client.act("web", "start");
  const { sleep, reason } = await waitForRecord(client, "web", (record) => record.sleep?.busy !== undefined);
  assert.match(
    sleep?.busy ?? "",
    /^procman can't count the clients of web-1; let "cmd" start the Node program itself, and the program listen on the shared socket$/,
  );
  assert.match(reason, /; stays awake: procman can't count/);
  await procman.line(/web +\| stays awake: procman can't count the clients of web-1/);
});

test("a stop and a block close the port; a start and the end of the block open it", async (context) => {
  const { port, client } = await sleeping(context);
  await client.act("web", "block");
  await refused(port);
  assert.equal((await client.process("web")).status, "asleep");
  await client.act("web", "unblock");
  await opened(port);
  const pid = await ask(port);
  await client.act("web", "stop", { waitSeconds: 30 });
  await refused(port);
  await client.act("web", "start", { waitSeconds: 30 });
  assert.notEqual(await ask(port), pid);
});

test("a client that waits longer than the limit is turned away, and why says so", async (context) => {
  const { procman, port, client } = await sleeping(context, { wakeTimeout: 1 }, { env: { LATE: 600_000 } });
  await assert.rejects(ask(port), /ECONNRESET|socket hang up/);
  await procman.line(/web +\| a client was turned away: it did not come up \(idle\.wakeTimeout: 1 s\)/);
  assert.match((await client.process("web")).reason, /a client was turned away: it did not come up/);
});

test("a port that another program has is named, as when it is started by hand", async (context) => {
  const other = await sleeping(context);
  const cluster = { instances: 1, mode: "share", commonPort: other.port };
  const procman = await startProcman(context, [
    { id: "api", cmd: DRAINING, node: true, autostart: true, restart: "never", cluster, idle: { after: LONG } },
  ]);
  await procman.line(new RegExp(`api-1 +\\| .*Cannot listen on 127\\.0\\.0\\.1:${other.port}: the port is in use`));
  await waitForRecord(await api({ procman }), "api", ({ status }) => status === "errored");
});

/** `"node": true`: the channel of a Node program that is a `cmd`, and the port of one that is a cluster. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { procman as cli } from "../support/cli.ts";
import { api, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { folderWith, Procman, processExit } from "../support/procman-process.ts";

const WAIT_READY = fileURLToPath(new URL("../programs/wait-ready-shutdown.cjs", import.meta.url));
const common = { autostart: true, logger: { console: true } };

test('a cmd with "node" is ready when it sends "ready", gets "shutdown" at the beginning of its grace period, and passes nothing on', async (context) => {
  const ready = { ready: { message: true }, terminateGracePeriod: 1_000 };
  const folder = folderWith(context, {
    processes: [
      { id: "cmd", cmd: `node ${WAIT_READY}`, node: true, ...ready, ...common },
      { id: "later", cmd: `cd / && exec node ${WAIT_READY} later`, node: true, ...ready, ...common },
      { id: "worker", worker: [WAIT_READY], ready: { message: true }, ...common },
      { id: "options", cmd: `node ${WAIT_READY}`, node: true, env: { NODE_OPTIONS: "--title=kept" }, ...common },
    ],
  });
  const procman = new Procman(folder);
  for (const id of ["cmd", "worker"]) await procman.line(new RegExp(`^${id} +\\| ready after`));
  await procman.line(/^cmd +\| variables $/);
  await procman.line(/^options +\| variables NODE_OPTIONS$/);
  await procman.line(/^options +\| sent ready, connected true$/);
  const client = await api({ procman });
  assert.match((await client.process("later")).reason, /is not ready yet \(has not sent the message "ready"\)/);
  assert.equal((await cli(folder, ["signal", "USR2", "later"])).code, 0);
  await waitForRecord(client, "later", (record) => record.ready === true);
  assert.equal((await cli(folder, ["stop", "cmd"])).code, 0);
  await procman.line(/^cmd +\| told shutdown$/);
  assert.equal((await client.process("cmd")).code, 0);
});

test("a Node program outlives the keeper that holds its channel, and is ready by its message nevertheless", async (context) => {
  const later = { id: "later", cmd: `node ${WAIT_READY} later`, node: true, ready: { message: true }, ...common };
  const folder = folderWith(context, { processes: [{ ...later, terminateTimeout: 5 }] });
  const procman = new Procman(folder);
  await procman.line(/variables/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  await procman.line(/later +\| disconnected$/);
  const client = await api({ procman });
  const { pid } = await client.process("later");
  assert.equal((await cli(folder, ["signal", "USR2", "later"])).code, 0);
  await procman.line(/sent ready, connected false$/);
  const record = await waitForRecord(client, "later", ({ ready }) => ready === true);
  assert.equal(record.pid, pid);
  await procman.stopHolder();
  await processExit(pid ?? 0);
});

/** As on the front page of node:http, and as Express calls it. */
const PLAIN = `const http = require("node:http");
let isStopping = false;
const server = http.createServer((request, response) => {
  if (isStopping) response.setHeader("connection", "close");
  response.setHeader("seen", request.socket.remoteAddress + " " + request.socket.remotePort);
  response.end(process.pid + "\\n");
});
server.keepAliveTimeout = 600_000;
SERVER.listen(PORT, () => {
  console.log("up on " + server.address().port);
  if (!process.env.LISTEN_FDS && !process.env.LISTEN_PID) console.log("nothing to inherit");
});
process.on("SIGTERM", () => {
  isStopping = true;
  require("node:net").Server.prototype.close.call(server, () => process.exit(0));
});
`;
const EXPRESS_LIKE = PLAIN.replace(
  "SERVER.listen(PORT,",
  "const app = { listen: (...args) => server.listen.apply(server, args) };\napp.listen({ port: PORT, host: 'localhost' },",
);

async function unchanged(context: TestContext, source: string, cluster: object, port: number): Promise<Procman> {
  const web = {
    id: "web",
    cmd: "node server.cjs",
    node: true,
    restart: "always",
    cluster: { instances: 3, commonPort: port, ...cluster },
  };
  const folder = folderWith(context, { processes: [{ ...web, ...common }] });
  writeFileSync(join(folder, "server.cjs"), source.replaceAll("SERVER", "server").replaceAll("PORT", String(port)));
  return new Procman(folder);
}

for (const [name, source] of [
  ["node:http", PLAIN],
  ["an Express-like program", EXPRESS_LIKE],
] as const)
  test(`${name} on one hard-coded port is a cluster with a shared socket: no connection is refused by restarts, kills of procman and an upgrade`, async (context) => {
    const port = await freePort();
    const procman = await unchanged(context, source, { mode: "share" }, port);
    await procman.count(new RegExp(`\\| up on ${port}$`), 3);
    await procman.count(/\| nothing to inherit$/, 3);
    const load = new LoadGenerator(context, port, 8);
    assert.equal((await cli(procman.folder, ["restart", "web"])).code, 0);
    process.kill(procman.helper("service"), "SIGKILL");
    await procman.line(/the service ended/);
    const upgraded = await cli(procman.folder, ["upgrade"]);
    assert.equal(upgraded.code, 0, upgraded.err);
    process.kill(procman.pid, "SIGKILL");
    await procman.successor();
    assert.equal((await cli(procman.folder, ["restart", "--hard", "web"])).code, 0);
    await load.stop();
    assert.deepEqual(load.errors, []);
    assert.ok(load.pids.size >= 4, `${load.requests} requests, ${load.pids.size} pids`);
    await procman.stopHolder();
  });

/** What three new connections in turn are for the program: the client's own address and port are "right". */
async function addressesSeen(port: number): Promise<readonly string[]> {
  const seen: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const request = get({ port, host: "127.0.0.1", agent: new Agent() });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const { localAddress, localPort } = request.socket ?? {};
    response.resume();
    seen.push(response.headers.seen === `${localAddress} ${localPort}` ? "right" : `${response.headers.seen}`);
  }
  return seen;
}

test("behind the load balancer its hard-coded port is replaced by that of the instance", async (context) => {
  const [startPort, commonPort] = [await freeRange(), await freePort()];
  const procman = await unchanged(context, PLAIN, { startPort }, commonPort);
  for (const own of [0, 1, 2]) await procman.line(new RegExp(`web-${own + 1} +\\| up on ${startPort + own}$`));
  const client = await api({ procman });
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  assert.deepEqual(await addressesSeen(commonPort), ["right", "right", "right"]);
  const load = new LoadGenerator(context, commonPort, 6);
  assert.equal((await cli(procman.folder, ["restart", "web"])).code, 0);
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.ok(load.pids.size >= 4);
});

/** As in the documentation of Express. */
const CLOSING = `const server = require("node:http").createServer((request, response) => setTimeout(() => response.end(process.pid + "\\n"), 5));
server.listen(PORT, () => console.log("up"));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

for (const mode of ["balance", "share"])
  test(`${mode}: no request on a kept connection is lost when the program just closes its server`, async (context) => {
    const port = await freePort();
    const procman = await unchanged(
      context,
      CLOSING,
      mode === "share" ? { mode } : { startPort: await freeRange() },
      port,
    );
    await procman.count(/\| up$/, 3);
    const client = await api({ procman });
    if (mode === "balance") for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
    const load = new LoadGenerator(context, port, 30);
    for (let turn = 0; turn < 2; turn++) assert.equal((await cli(procman.folder, ["restart", "web"])).code, 0);
    await load.stop();
    assert.deepEqual(load.errors, []);
    assert.ok(load.pids.size >= 6, `${load.requests} requests, ${load.pids.size} pids`);
  });

/** The common port of a cluster: when it is open, and how it changes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { testBoth } from "../support/both-tcp.ts";
import { procman as cli } from "../support/cli.ts";
import {
  api,
  ask,
  type Cluster,
  cluster,
  DRAINING_SERVER,
  isAccepting,
  LoadGenerator,
  waitForRecord,
} from "../support/cluster-rig.ts";
import { freePort, freeRange, isFree } from "../support/free-ports.ts";
import { eventually, isAlive, startProcman } from "../support/procman-process.ts";

/** Changes fields of the cluster in the configuration file. */
function edit({ procman }: Cluster, change: (fields: Record<string, unknown>) => void): void {
  const file = join(procman.folder, "procman.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as { processes: { cluster: Record<string, unknown> }[] };
  change(config.processes[0]?.cluster ?? {});
  writeFileSync(file, JSON.stringify(config));
}

async function untilFree(port: number): Promise<void> {
  while (!(await isFree(port))) await new Promise(setImmediate);
}

testBoth(
  "the port of a cluster that is stopped refuses clients at once, also those that wait; a start opens it again",
  async (context) => {
    const web = await cluster(context, { instances: 2 }, { LATE: "1000000" }, { terminateGracePeriod: 0 });
    const waiting = await waitForConnection(web.port);
    const gone = once(waiting, "close");
    const client = await api(web);
    await waitForRecord(client, "web", ({ balancer }) => balancer?.waiting === 1);
    await client.act("web", "stop", { waitSeconds: 20 });
    await gone;
    await untilFree(web.port);
    const stopped = await client.process("web");
    assert.deepEqual([stopped.balancer?.waiting, stopped.balancer?.problem], [0, undefined]);
    await client.act("web", "start");
    const later = await waitForConnection(web.port);
    await waitForRecord(client, "web", ({ balancer }) => balancer?.waiting === 1);
    later.destroy();
  },
);

async function waitForConnection(port: number): Promise<ReturnType<typeof connect>> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isConnected = await new Promise<boolean>((resolve) =>
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false)),
    );
    if (isConnected) return socket;
  }
}

test("a reload to a common port that another program has is refused before anything changes", async (context) => {
  const web = await cluster(context, { instances: 1 });
  await waitForRecord(await api(web), "web-1", isAccepting);
  const pid = await ask(web.port);
  const other = createServer().listen(0, "127.0.0.1");
  context.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  edit(web, (fields) => {
    fields.commonPort = port;
  });
  const { code, err } = await cli(web.procman.folder, ["reload"]);
  assert.equal(code, 1);
  assert.match(
    err,
    new RegExp(
      `the common port 127.0.0.1:${port} of "web" can't be opened: the port is in use by .*pid ${process.pid}.*nothing was changed`,
    ),
  );
  assert.equal(await ask(web.port), pid);
});

test("after a kill of the keeper, the balancer's port is not taken for that of another program", async (context) => {
  const web = await cluster(context);
  await waitForRecord(await api(web), "web-1", isAccepting);
  process.kill(web.procman.pid, "SIGKILL");
  await web.procman.successor();
  await waitForRecord(await api(web), "web-1", isAccepting);
  edit(web, (fields) => {
    fields.strategy = "least-connections";
  });
  for (const command of [["validate"], ["plan"]]) {
    const { out, err } = await cli(web.procman.folder, command);
    assert.doesNotMatch(out + err, /in use/);
  }
  await web.procman.stopHolder();
});

/** From the end of the former socket to the new one, on a busy machine. Milliseconds. */
const GAP_MS = 250;

testBoth(
  "another address with the same port is opened while clients come, and all processes of the balancer serve it",
  async (context) => {
    const web = await cluster(context);
    for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(await api(web), id, isAccepting);
    const load = new LoadGenerator(context, web.port, 10);
    while (load.requests < 200) await new Promise(setImmediate);
    edit(web, (fields) => {
      fields.hostname = "0.0.0.0";
    });
    assert.equal((await cli(web.procman.folder, ["reload"])).code, 0);
    const socket = connect(web.port, "127.0.0.2");
    await once(socket, "connect");
    socket.destroy();
    const before = load.requests;
    while (load.requests < before + 200) await new Promise(setImmediate);
    await load.stop();
    // The former socket is closed before the new one is bound: new connections may fall into that gap, or be in the
    // queue of the former one, which the kernel then resets. Refused clients try again at once, so their number says
    // how fast they are, not how long the gap was.
    const [first, last] = [load.failures[0], load.failures.at(-1)];
    assert.ok(first === undefined || last === undefined || last.at - first.began < GAP_MS, load.errors.join("\n"));
    assert.ok(
      load.errors.every((error) => /^\/new-.*ECONN(?:REFUSED|RESET)/.test(error)),
      load.errors.join("\n"),
    );
  },
);

test("a cluster changes from the load balancer to a shared socket on the same port by a reload, and back", async (context) => {
  const web = await cluster(context, { instances: 2 });
  for (const id of ["web-1", "web-2"]) await waitForRecord(await api(web), id, isAccepting);
  const { startPort } = web;
  edit(web, (fields) => {
    fields.mode = "share";
    delete fields.startPort;
  });
  const there = await cli(web.procman.folder, ["reload"]);
  assert.equal(there.code, 0, there.out + there.err);
  assert.ok((await ask(web.port)) > 1);
  assert.equal((await (await api(web)).process("web")).socket?.port, web.port);
  edit(web, (fields) => {
    delete fields.mode;
    fields.startPort = startPort;
  });
  const back = await cli(web.procman.folder, ["reload"]);
  assert.equal(back.code, 0, back.out + back.err);
  const client = await api(web);
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  await waitForRecord(client, "web", ({ balancer }) => balancer !== undefined && balancer.problem === undefined);
  assert.ok((await ask(web.port)) > 1);
});

test("a process becomes a cluster on its own port by a reload: it serves until the instances are up, and plan says when the port opens", async (context) => {
  const [port, startPort] = [await freePort(), await freeRange()];
  const single = { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, env: { PORT: String(port) } };
  const procman = await startProcman(context, [single]);
  const file = join(procman.folder, "procman.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as { processes: object[] };
  const use = (fields: object): void =>
    writeFileSync(file, JSON.stringify({ ...config, processes: [{ ...single, env: {}, ...fields }] }));
  const pid = await eventually(() => ask(port).catch(() => undefined));
  const shape = { instances: 2, startPort, commonPort: port };

  use({ cmd: "exit 3", cluster: shape });
  const bad = await cli(procman.folder, ["reload"]);
  assert.equal(bad.code, 1);
  assert.match(bad.err, /"web-1" did not come up .*; the previous configuration is restored/);
  assert.equal(await ask(port), pid, "the process has served all the time");

  use({ cluster: shape });
  // The instances of the failed attempt have ended.
  const plan = await eventually(async () => {
    const now = await cli(procman.folder, ["plan"]);
    return now.out.includes("is being stopped") ? undefined : now;
  });
  assert.match(plan.out, new RegExp(`web +stop .*the common port ${port} of "web" opens when it has ended`));
  const load = new LoadGenerator(context, port, 4);
  while (load.requests < 50) await new Promise(setImmediate);
  const reload = await cli(procman.folder, ["reload"]);
  assert.deepEqual([reload.code, reload.out.trim()], [0, plan.out.trim()], reload.err);
  const before = load.requests;
  while (load.requests < before + 50) await new Promise(setImmediate);
  await load.stop();
  const [first, last] = [load.failures[0], load.failures.at(-1)];
  assert.ok(first === undefined || last === undefined || last.at - first.began < GAP_MS, load.errors.join("\n"));
  const { instances = [] } = await (await api({ procman })).process("web");
  assert.ok(instances.some((instance) => load.pids.has(instance.pid ?? 0)));
  assert.equal(isAlive(pid), false);
});

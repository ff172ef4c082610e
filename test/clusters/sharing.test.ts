/** A cluster of a running procman whose instances share one listening socket. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import { CAN_REOPEN } from "../../src/core/os/inherited-sockets.ts";
import { procman as cli } from "../support/cli.ts";
import { api, ask, type Cluster, DRAINING_SERVER, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, folderWith, Procman, processExit, startProcman } from "../support/procman-process.ts";
import { entryUrl } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const ANSWERING_SERVER = fileURLToPath(new URL("../programs/answer-with-pid.js", import.meta.url));
const PASSED_SOCKET_SERVER = fileURLToPath(new URL("../programs/serve-passed-socket.py", import.meta.url));
const IDS = ["web-1", "web-2"] as const;

type Shared = Pick<Cluster, "procman" | "port"> & { readonly client: Client };

async function shared(context: TestContext, fields: object = {}, port?: number): Promise<Shared> {
  const commonPort = port ?? (await freePort());
  const cluster = { instances: 2, mode: "share", commonPort };
  const procman = await startProcman(context, [
    { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restart: "always", cluster, ...fields },
  ]);
  return { procman, port: commonPort, client: await api({ procman }) };
}

async function areUp({ client }: Shared): Promise<void> {
  for (const id of IDS) await waitForRecord(client, id, ({ status }) => status === "running");
}

/** Resolves when the next run of this instance has started. */
async function waitForNextRun(client: Client, id: string): Promise<void> {
  const { run = 0 } = await client.process(id);
  await client.act(id, "restart");
  await waitForRecord(client, id, (now) => (now.run ?? 0) > run && now.status === "running");
}

/** Resolves when both instances have accepted connections; the faster one gets more. */
async function bothServe({ port, client }: Shared): Promise<void> {
  const pids = new Set<number>();
  for (const end = performance.now() + 20_000; pids.size < 2 && performance.now() < end; )
    for (const pid of await Promise.all(Array.from({ length: 20 }, () => ask(port)))) pids.add(pid);
  const own = await Promise.all(IDS.map(async (id) => (await client.process(id)).pid ?? 0));
  assert.deepEqual([...pids].sort(), own.sort());
}

test("instances share a listening socket, and no request fails while they are restarted one by one", async (context) => {
  const web = await shared(context);
  await areUp(web);
  await bothServe(web);
  const load = new LoadGenerator(context, web.port, 16);
  for (const turn of [1, 2]) assert.equal((await cli(web.procman.folder, ["restart", "web"])).code, 0, `turn ${turn}`);
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.ok(load.requests > 100 && load.pids.size >= 4, `${load.requests} requests, ${load.pids.size} pids`);
});

test("a program behind variables and `cd` gets the shared socket", async (context) => {
  const web = await shared(context, { cmd: `cd / && NODE_ENV=production FOO=$HOME node ${DRAINING_SERVER} 2>&1` });
  await areUp(web);
  await bothServe(web);
});

test("instances that accept nothing from the shared socket are named, with their ports, and its clients are turned away, not left waiting", async (context) => {
  const ports = await freeRange();
  const web = await shared(context, { cmd: `node ${ANSWERING_SERVER} $((${ports} + {instance}))` });
  await areUp(web);
  const stranded = ask(web.port).then(
    () => "an answer",
    ({ code }: NodeJS.ErrnoException) => code,
  );
  for (const number of [1, 2]) {
    const text = `runs, but accepts no connections from the shared socket 127.0.0.1:${web.port} (descriptor 3); it listens on ${ports + number}`;
    assert.ok((await web.procman.line(new RegExp(`web-${number} .*shared socket`))).includes(text));
    assert.equal((await web.client.process(`web-${number}`)).reason, text);
  }
  const { ready, reason } = await waitForRecord(web.client, "web", (cluster) => cluster.ready === false);
  assert.deepEqual(
    [ready, reason.split("; ")[0]],
    [false, "2 of 2 instances are running, none of them accepts connections"],
  );
  assert.equal(await stranded, "ECONNRESET");
  await web.procman.line(
    /web .*have waited on 127\.0\.0\.1:\d+ for 10 s, and no instance accepts .*: they are turned away/,
  );
});

test("an instance that accepts nothing from the shared socket keeps no client from the others", async (context) => {
  const web = await shared(context, { cmd: `[ {instance} = 1 ] && exec sleep 1000; exec node ${DRAINING_SERVER}` });
  await areUp(web);
  const { pid } = await web.client.process("web-2");
  for (let turn = 0; turn < 5; turn++) assert.equal(await ask(web.port), pid);
});

test("during a restart of all instances at once connections wait in the kernel", async (context) => {
  const web = await shared(context);
  await areUp(web);
  await bothServe(web);
  const load = new LoadGenerator(context, web.port, 8);
  await eventually(() => (load.pids.size > 0 ? true : undefined));
  await Promise.all(IDS.map((id) => waitForNextRun(web.client, id)));
  const next = await Promise.all(IDS.map(async (id) => (await web.client.process(id)).pid ?? 0));
  await eventually(() => (next.some((pid) => load.pids.has(pid)) ? true : undefined));
  await load.stop();
  assert.deepEqual(load.errors, []);
});

test("after kills of service and keeper new instances serve on the same socket, and no connection is refused", async (context) => {
  const web = await shared(context);
  const { procman, port } = web;
  await areUp(web);
  const load = new LoadGenerator(context, port, 6);
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); restarting it/);
  await waitForNextRun(await api(web), "web-1");
  let killed = procman.pid;
  for (const id of ["web-2", "web-1"]) {
    process.kill(killed, "SIGKILL");
    killed = await procman.successor(killed);
    const client = await api(web);
    await waitForNextRun(client, id);
    // Once more: the second keeper opens nothing, it has the socket.
    await waitForNextRun(client, id);
  }
  await load.stop();
  assert.deepEqual(load.errors, []);
  await bothServe({ ...web, client: await api(web) });
  await procman.stopHolder();
  await assert.rejects(ask(port), /ECONNREFUSED/);
});

test("after a simultaneous kill of keeper and service the logger hands the shared socket on", async (context) => {
  const web = await shared(context);
  const { procman, port } = web;
  await areUp(web);
  const service = procman.helper("service");
  assert.ok(service > 1 && procman.pid > 1);
  const load = new LoadGenerator(context, port, 4);
  process.kill(service, "SIGSTOP");
  process.kill(procman.pid, "SIGKILL");
  process.kill(service, "SIGKILL");
  await procman.successor();
  const client = await api(web);
  for (const id of IDS) await waitForNextRun(client, id);
  await load.stop();
  assert.deepEqual(load.errors, []);
});

/** Keeper, service and logger are killed in the same moment. */
async function killAll(former: Procman): Promise<void> {
  const parts = [former.pid, former.helper("service"), former.helper("logger")];
  assert.ok(parts.every((pid) => pid > 1));
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const pid of parts) process.kill(pid, signal);
  for (const pid of parts) await processExit(pid);
}

const REOPENS = "after a kill of keeper, service and logger new instances get a second socket on the port (Node 22.12)";
const LOSES =
  "after a kill of keeper, service and logger the next procman says that only the instances have the socket (Node 20), and its remedy works";

if (CAN_REOPEN)
  test(REOPENS, async (context) => {
    const web = await shared(context);
    await areUp(web);
    await killAll(web.procman);
    assert.ok((await ask(web.port)) > 1);
    const procman = new Procman(web.procman.folder);
    const client = await api({ procman });
    const load = new LoadGenerator(context, web.port, 4);
    const former = await Promise.all(IDS.map(async (id) => (await client.process(id)).pid ?? 0));
    await waitForNextRun(client, "web-1");
    const now = { procman, port: web.port, client };
    await bothServe(now);
    await waitForNextRun(client, "web-2");
    await bothServe(now);
    await load.stop();
    assert.ok(former.some((pid) => load.pids.has(pid)));
    // Another program's port is not shared: the second procman of this user names the holder.
    const other = await shared(context, {}, web.port);
    await waitForRecord(other.client, "web-1", ({ reason }) => reason.includes("the port is in use by procman"));
  });
else
  test(LOSES, async (context) => {
    const web = await shared(context);
    const { procman: former, port } = web;
    await areUp(web);
    await killAll(former);
    assert.ok((await ask(port)) > 1);
    const procman = new Procman(former.folder);
    const loss = /only the running instances of "web" have its socket, .*; "procman restart --hard web" opens it again/;
    await procman.line(new RegExp(`web +\\| Cannot start another instance: ${loss.source}`));
    const client = await api({ procman });
    const pids = async (): Promise<readonly (number | undefined)[]> =>
      Promise.all(IDS.map(async (id) => (await client.process(id)).pid));
    const before = await pids();
    const { code, err } = await cli(procman.folder, ["restart", "web"]);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`^procman: Cannot restart "web" one by one: ${loss.source}`));
    assert.deepEqual(await pids(), before);
    await client.act("web-1", "restart");
    await waitForRecord(
      client,
      "web-1",
      ({ reason }) => loss.test(reason) && reason.includes(`the port is in use by node (pid ${before[1]})`),
    );
    assert.equal((await cli(procman.folder, ["restart", "--hard", "web"])).code, 0);
    const now = { procman, port, client };
    await areUp(now);
    await bothServe(now);
    assert.equal((await cli(procman.folder, ["restart", "web"])).code, 0);
    await bothServe(now);
  });

test("a program with plain accept() and sd_listen_fds(3) works, also after a kill of its keeper", async (context) => {
  if (isMissing(context, "python3")) return;
  const web = await shared(context, { cmd: `python3 ${PASSED_SOCKET_SERVER}`, logger: { console: true } });
  await areUp(web);
  await web.procman.count(/accepts$/, 2);
  await bothServe(web);
  process.kill(web.procman.pid, "SIGKILL");
  await web.procman.successor();
  const client = await api(web);
  await waitForNextRun(client, "web-2");
  await bothServe({ ...web, client });
  const { restarts } = await client.process("web-1");
  assert.equal(restarts, 0);
});

test("if the shared port is in use, its holder is named, other processes run, and the cluster serves when it is free", async (context) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => holder.once("listening", resolve));
  const { port } = holder.address() as { readonly port: number };
  const folderless = { instances: 2, mode: "share", commonPort: port };
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: `node ${DRAINING_SERVER}`,
      autostart: true,
      restart: "always",
      restartDelayMs: 100,
      cluster: folderless,
    },
    { id: "other", cmd: "sleep 1000", autostart: true },
  ]);
  await procman.line(
    new RegExp(`web-1 .*Cannot listen on 127\\.0\\.0\\.1:${port}: the port is in use by .+ \\(pid ${process.pid}\\)`),
  );
  const client = await api({ procman });
  await waitForRecord(client, "other", ({ status }) => status === "running");
  holder.close();
  const web = { procman, port, client };
  await areUp(web);
  await bothServe(web);
});

/** Resolves once the port is closed. */
async function waitUntilClosed(port: number): Promise<void> {
  for (;;) {
    const outcome = await ask(port).catch(({ message }: Error) => message);
    if (/ECONNREFUSED/.test(String(outcome))) return;
    assert.match(String(outcome), /ECONNRESET|hang up/);
  }
}

test("while all instances are stopped the shared port is closed; it opens with the first start", async (context) => {
  const web = await shared(context);
  await areUp(web);
  await web.client.act("web", "stop");
  for (const id of IDS) await waitForRecord(web.client, id, ({ status }) => status === "stopped");
  // A client that connects while the port is being closed is reset.
  await waitUntilClosed(web.port);
  await web.client.act("web-2", "start");
  await waitForRecord(web.client, "web-2", ({ status }) => status === "running");
  assert.equal(await ask(web.port), (await web.client.process("web-2")).pid);
});

test("a reload with another shared port moves the instances one by one; the old port is closed", async (context) => {
  const web = await shared(context);
  await areUp(web);
  const next = await freePort();
  const file = join(web.procman.folder, "procman.json");
  const cluster = { instances: 2, mode: "share", commonPort: next };
  writeFileSync(
    file,
    JSON.stringify({
      processes: [{ id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restart: "always", cluster }],
    }),
  );
  const { code, err } = await cli(web.procman.folder, ["reload"]);
  assert.equal(code, 0, err);
  await areUp(web);
  await bothServe({ ...web, port: next });
  await assert.rejects(ask(web.port), /ECONNREFUSED/);
});

test("2.2 workers share a socket by `procman/cluster`; a rolling restart, which asks them to finish, fails no request", async (context) => {
  const script = `
    import { createServer } from "node:http";
    import { Server } from "node:net";
    import { listen } from ${JSON.stringify(entryUrl("cluster"))};
    let isEnding = false;
    const server = createServer((request, response) => {
      if (isEnding) response.setHeader("connection", "close");
      response.end(String(process.pid));
    });
    server.keepAliveTimeout = 600_000;
    listen(server);
    process.once("message", (message) => {
      if (message !== "drain") return;
      console.log("finishes");
      isEnding = true;
      // \`close\` of http would end connections with a request in progress.
      Server.prototype.close.call(server);
    });`;
  const commonPort = await freePort();
  const cluster = { instances: 2, mode: "share", commonPort };
  const shape = { id: "web", worker: "web.mjs", autostart: true, restart: "always", terminateGracePeriod: 20, cluster };
  const folder = folderWith(context, { logger: { console: true }, processes: [shape] });
  writeFileSync(join(folder, "web.mjs"), script);
  const procman = new Procman(folder);
  const web = { procman, port: commonPort, client: await api({ procman }) };
  await areUp(web);
  await bothServe(web);
  const load = new LoadGenerator(context, commonPort, 8);
  const { code, err } = await cli(folder, ["restart", "web"]);
  await load.stop();
  assert.equal(code, 0, err);
  assert.deepEqual(load.errors, []);
  await procman.count(/web-[12] +\| finishes$/, 2);
  const ends = procman.lines.filter((line) => /web-[12] +\| .*SIG/.test(line));
  assert.ok(
    ends.every((line) => /still stopping \(SIGTERM in 19 s\)/.test(line)),
    ends.join("\n"),
  );
});

test("records of the API and `status` show the shared port while it is open", async (context) => {
  const web = await shared(context);
  await areUp(web);
  const { socket, reason, balancer } = await web.client.process("web");
  assert.deepEqual([socket, balancer], [{ hostname: "127.0.0.1", port: web.port }, undefined]);
  assert.equal(reason, `2 of 2 instances are running; they share 127.0.0.1:${web.port}`);
  const [listed] = await web.client.processes();
  assert.deepEqual(listed?.socket, socket);
  assert.match((await cli(web.procman.folder, ["status"])).out, new RegExp(`they share 127\\.0\\.0\\.1:${web.port}`));
  await web.client.act("web", "stop", { waitSeconds: 30 });
  assert.equal((await web.client.process("web")).reason, "0 of 2 instances are running");
});

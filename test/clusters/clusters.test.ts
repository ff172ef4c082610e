/** A cluster of a running procman behind its common port: the effect of restarts, crashes and kills on clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { testBoth } from "../support/both-tcp.ts";
import { procman as cli } from "../support/cli.ts";
import {
  api,
  ask,
  cluster,
  DRAINING_SERVER,
  isAccepting,
  LoadGenerator,
  waitForRecord,
} from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, folderWith, isAlive, Procman, processExit, startProcman } from "../support/procman-process.ts";

const ANSWERING_SERVER = fileURLToPath(new URL("../programs/answer-with-pid.js", import.meta.url));
const RETRYING_SERVER = fileURLToPath(new URL("../programs/retry-listening.js", import.meta.url));

testBoth("2.2 every instance gets its share of the common port's connections, and status shows it", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  const pids = new Set<number>();
  for (let turn = 0; turn < 12; turn++) pids.add(await ask(web.port));
  assert.equal(pids.size, 3);
  const { instances = [], balancer } = await waitForRecord(
    client,
    "web",
    ({ instances: all = [] }) => all.reduce((sum, { backend }) => sum + (backend?.totalConnections ?? 0), 0) === 12,
  );
  assert.deepEqual(balancer, {
    hostname: "127.0.0.1",
    port: web.port,
    strategy: "round-robin",
    waiting: 0,
    rejected: 0,
  });
  for (const { backend } of instances)
    assert.ok((backend?.totalConnections ?? 0) >= 2 && (backend?.sentBytes ?? 0) > 0);
});

/** The answer on a new connection. */
async function textAt(port: number): Promise<string> {
  const [response] = (await once(get({ host: "127.0.0.1", port, agent: false }), "response")) as [IncomingMessage];
  return text(response);
}

test("2.2 the first example of docs/guide/clusters.md serves as it is printed, each instance on the port that it finds in PORT", async (context) => {
  const page = readFileSync(new URL("../../docs/guide/clusters.md", import.meta.url), "utf8");
  const [, config = ""] = /```jsonc\n([\s\S]*?)```/.exec(page) ?? [];
  const [, server = ""] = /```js\n(\/\/ server\.js\n[\s\S]*?)```/.exec(page) ?? [];
  const [port, startPort] = [await freePort(), await freeRange()];
  const folder = folderWith(context, { processes: [] });
  writeFileSync(join(folder, "procman.json"), config.replace("3000", String(port)).replace("3001", String(startPort)));
  writeFileSync(join(folder, "server.js"), server);
  const procman = new Procman(folder);
  const client = await api({ procman });
  for (const id of ["web-1", "web-2", "web-3", "web-4"]) await waitForRecord(client, id, isAccepting);
  const answers = new Set<string>();
  for (let turn = 0; turn < 16; turn++) answers.add(await textAt(port));
  const { instances = [] } = await client.process("web");
  assert.deepEqual([...answers].sort(), instances.map(({ pid }) => `hello from ${pid}\n`).sort());
});

testBoth(
  "no request fails while the instances are restarted one after another, and then all at once",
  async (context) => {
    const web = await cluster(context);
    const client = await api(web);
    for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
    const load = new LoadGenerator(context, web.port, 20);
    for (const id of ["web-1", "web-2", "web-3"]) {
      const { run = 0 } = await client.process(id);
      await client.act(id, "restart");
      await waitForRecord(client, id, (now) => (now.run ?? 0) > run && isAccepting(now));
    }
    const before = (await client.process("web")).instances ?? [];
    await client.act("web", "restart");
    for (const { id, run = 0 } of before)
      await waitForRecord(client, id, (now) => (now.run ?? 0) > run && isAccepting(now));
    await load.stop();
    assert.deepEqual(load.errors, []);
    assert.ok(load.requests > 100 && load.pids.size >= 6, `${load.requests} requests, ${load.pids.size} pids`);
  },
);

testBoth(
  "a killed instance takes only its own connections with it; new clients get other instances",
  async (context) => {
    const web = await cluster(context);
    const client = await api(web);
    for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
    for (let kill = 0; kill < 3; kill++) {
      const { pid = 0 } = await client.process("web-2");
      assert.ok(pid > 1);
      process.kill(pid, "SIGKILL");
      // A dying process still accepts connections; a dead one gets none.
      await processExit(pid);
      for (let turn = 0; turn < 20; turn++) await ask(web.port);
      await waitForRecord(client, "web-2", (now) => now.pid !== pid && isAccepting(now));
    }
  },
);

testBoth("connections outlive kills of service and keeper; a new connection works at any time", async (context) => {
  const web = await cluster(context);
  const { procman, port } = web;
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  const balancer = procman.helper("balancer");
  const load = new LoadGenerator(context, port, 6);
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); restarting it/);
  const second = await api(web);
  await waitForRecord(second, "web-1", isAccepting);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const third = await api(web);
  await waitForRecord(third, "web-1", isAccepting);
  const { run = 0 } = await third.process("web-1");
  await third.act("web-1", "restart");
  await waitForRecord(third, "web-1", (now) => (now.run ?? 0) > run && isAccepting(now));
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.ok(isAlive(balancer) && load.requests > 20);
  await procman.stopHolder();
  await processExit(balancer);
  await assert.rejects(ask(port));
});

testBoth("a killed balancer is restarted at once", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  process.kill(web.procman.helper("balancer"), "SIGKILL");
  const start = performance.now();
  for (let isBack = false; !isBack; ) {
    isBack = await ask(web.port).then(
      () => true,
      () => false,
    );
    assert.ok(performance.now() - start < 10_000);
  }
  await web.procman.line(/the balancer ended \(SIGKILL\); restarting it; its connections are broken/);
  await waitForRecord(client, "web-3", isAccepting);
});

testBoth("a balancer that is killed after its keeper is started again by the next keeper", async (context) => {
  const web = await cluster(context);
  await waitForRecord(await api(web), "web-1", isAccepting);
  const balancer = web.procman.helper("balancer");
  process.kill(web.procman.pid, "SIGKILL");
  await web.procman.successor();
  await waitForRecord(await api(web), "web-1", isAccepting);
  process.kill(balancer, "SIGKILL");
  await web.procman.line(/the balancer ended; restarting it/);
  await eventually(() => (isAlive(balancer) ? undefined : true));
  const start = performance.now();
  let isBack = false;
  while (!isBack && performance.now() - start < 10_000)
    isBack = await ask(web.port).then(
      () => true,
      () => false,
    );
  assert.ok(isBack);
});

testBoth(
  "a common port in use: log and status name its holder, the instances run, and the port is served when it is free",
  async (context) => {
    const holder = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address() as { readonly port: number };
    const web = await cluster(context, { commonPort: port });
    await web.procman.line(
      new RegExp(
        `web .* Cannot listen on 127.0.0.1:${port}: the port is in use by .+ \\(pid ${process.pid}\\); retrying`,
      ),
    );
    const client = await api(web);
    const { reason, instances = [] } = await waitForRecord(
      client,
      "web",
      ({ balancer }) => balancer?.problem !== undefined,
    );
    assert.match(reason, /3 of 3 instances are running; not listening on 127\.0\.0\.1:\d+: the port is in use by/);
    assert.equal(instances.length, 3);
    holder.close();
    await web.procman.line(/web .* the load balancer listens on 127\.0\.0\.1:\d+ now/);
    await waitForRecord(client, "web-1", isAccepting);
    assert.ok((await ask(port)) > 1);
  },
);

testBoth(
  "the status of an instance that runs but doesn't listen on its port says so, and the others serve",
  async (context) => {
    const [port, startPort] = [await freePort(), await freeRange()];
    const cmd = `PORT=$((PROCMAN_CLUSTER_PORT + 100 * (PROCMAN_CLUSTER_INSTANCE == 1))) exec node ${DRAINING_SERVER}`;
    const procman = await startProcman(context, [
      { id: "web", cmd, autostart: true, cluster: { instances: 2, startPort, commonPort: port } },
    ]);
    const client = await api({ procman });
    await waitForRecord(client, "web-1", isAccepting);
    const { status } = await waitForRecord(client, "web-2", ({ reason }) =>
      reason.includes(`accepts no connections on its port 127.0.0.1:${startPort + 1}`),
    );
    assert.equal(status, "running");
    assert.ok((await ask(port)) > 1);
    const text = `accepts no connections on its port 127\\.0\\.0\\.1:${startPort + 1} \\(PROCMAN_CLUSTER_PORT\\); it listens on ${startPort + 101}$`;
    await procman.line(new RegExp(`web-2 +\\| runs, but ${text}`));
    assert.match((await client.process("web-2")).reason, new RegExp(`^runs, but ${text}`));
    assert.equal((await client.process("web")).ready, true);
  },
);

testBoth(
  "a port of an instance that another program holds: the program is named and gets no client, and the instance serves when the port is free",
  async (context) => {
    const [port, startPort] = [await freePort(), await freeRange()];
    const met: number[] = [];
    const holder = createServer((socket) => {
      met.push(socket.remotePort ?? 0);
      socket.on("error", () => undefined).destroy();
    }).listen(startPort + 1, "127.0.0.1");
    await once(holder, "listening");
    context.after(() => holder.close());
    const cluster = { instances: 2, startPort, commonPort: port };
    const procman = await startProcman(context, [
      { id: "web", cmd: `node ${RETRYING_SERVER}`, autostart: true, cluster },
    ]);
    const held = `its port ${startPort + 1} is in use by .+ \\(pid ${process.pid}\\); stop it, or choose another port`;
    await procman.line(new RegExp(`web-2 +\\| runs, but ${held}`));
    const client = await api({ procman });
    const { pid } = await waitForRecord(client, "web-1", isAccepting);
    assert.match((await client.process("web-2")).reason, new RegExp(`^runs, but ${held}`));
    for (let turn = 0; turn < 12; turn++) assert.equal(await ask(port), pid);
    process.kill(procman.helper("service"), "SIGKILL");
    await procman.line(/the service ended/);
    const again = await api({ procman });
    await waitForRecord(again, "web-1", isAccepting);
    for (let turn = 0; turn < 12; turn++) assert.equal(await ask(port), pid);
    assert.deepEqual(met, [], "no client and no health check has connected to it");
    holder.close();
    const other = await waitForRecord(again, "web-2", isAccepting);
    const pids = new Set<number>();
    for (let turn = 0; turn < 12; turn++) pids.add(await ask(port));
    assert.ok(pids.has(other.pid ?? 0));
  },
);

testBoth(
  "if another program has the port of an instance, the end of that instance names the program",
  async (context) => {
    const [port, startPort] = [await freePort(), await freeRange()];
    const holder = createServer().listen(startPort + 1, "127.0.0.1");
    await once(holder, "listening");
    context.after(() => holder.close());
    const cluster = { instances: 2, startPort, commonPort: port };
    const procman = await startProcman(context, [
      { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restartDelayMs: 300, cluster },
    ]);
    const held = `\\(its port ${startPort + 1} is in use by .+ \\(pid ${process.pid}\\); stop it, or choose another port\\)`;
    await procman.line(new RegExp(`web-2 +\\| exited with code 1 ${held} after .*; restart 1 in 300 ms`));
    const client = await api({ procman });
    const { pid } = await waitForRecord(client, "web-1", isAccepting);
    for (let turn = 0; turn < 12; turn++) assert.equal(await ask(port), pid);
    assert.match(
      (await waitForRecord(client, "web-2", ({ status }) => status === "backoff")).reason,
      new RegExp(`exited with code 1 ${held}, restart`),
    );
    holder.close();
    await waitForRecord(client, "web-2", isAccepting);
  },
);

test("where all instances want the port that is in the program, the end of one names the instance that has it", async (context) => {
  const [fixed, startPort] = [await freePort(), await freeRange()];
  const cluster = { instances: 2, startPort };
  const cmd = `node ${ANSWERING_SERVER} ${fixed}`;
  const procman = await startProcman(context, [{ id: "web", cmd, autostart: true, restartDelayMs: 300, cluster }]);
  const line = await procman.line(/web-[12] +\| exited with code 1 \(port .*; restart 1 in 300 ms/);
  const [, loser = ""] = /web-([12])/.exec(line) ?? [];
  const winner = `web-${3 - Number(loser)}`;
  const { pid } = await (await api({ procman })).process(winner);
  const why = `port ${fixed}, which it may want, is in use by ${winner}, node (pid ${pid}); each instance must listen on its own port, here ${startPort + Number(loser) - 1}`;
  assert.ok(line.includes(why), line);
  assert.ok((await cli(procman.folder, ["why", `web-${loser}`])).out.replaceAll(/\s+/g, " ").includes(why));
});

test("an instance that has the port of another one is named", async (context) => {
  const startPort = await freeRange();
  const cluster = { instances: 2, startPort };
  const cmd = `until [ {instance} = 1 ] || [ -e go ]; do sleep 0.02; done; exec node ${ANSWERING_SERVER} ${startPort + 1}`;
  const procman = await startProcman(context, [
    { id: "web", cmd, autostart: true, restartDelayMs: 300, cluster, logger: { console: true } },
  ]);
  const [, pid = ""] = /listens as (\d+)/.exec(await procman.line(/web-1 .*listens as/)) ?? [];
  writeFileSync(join(procman.folder, "go"), "");
  await procman.line(
    new RegExp(
      `web-2 +\\| exited with code 1 \\(its port ${startPort + 1} is in use by web-1, node \\(pid ${pid}\\); stop it`,
    ),
  );
});

testBoth(
  "with too few file descriptors some clients are rejected, and status and log name the cause and the remedy",
  async (context) => {
    const [port, startPort] = [await freePort(), await freeRange()];
    const shape = {
      id: "web",
      cmd: `node ${DRAINING_SERVER}`,
      autostart: true,
      cluster: { instances: 2, startPort, commonPort: port },
    };
    const procman = await startProcman(context, [shape], { launcher: ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh"] });
    const client = await api({ procman });
    for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
    const agents = Array.from({ length: 60 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const answers = await Promise.allSettled(agents.map((agent) => ask(port, agent)));
    const served = answers.filter(({ status }) => status === "fulfilled").length;
    assert.ok(
      served >= 18 && served <= 36,
      `${served} of 60 are served, by two processes with (100 - 64) / 2 each at most`,
    );
    const why =
      "clients are turned away: each of the load balancer's processes may open only 100 files; raise that where procman is started";
    await procman.line(new RegExp(`web +\\| ${why} \\(ulimit -n, LimitNOFILE=\\)`));
    const { reason, balancer } = await waitForRecord(client, "web", (now) => now.balancer?.rejected === 60 - served);
    assert.ok(reason.includes(why), reason);
    assert.equal(balancer?.problem, undefined);
    for (const agent of agents) agent.destroy();
    await procman.line(/web +\| clients are no longer turned away/);
    for (let turn = 0; turn < 10; turn++) assert.ok((await ask(port)) > 1);
  },
);

testBoth("clients that connect before the instances listen wait for them", async (context) => {
  const web = await cluster(context, {}, { LATE: "700" });
  // Connections are refused until the port is open, and never after that.
  let answer: number | undefined;
  for (const end = performance.now() + 30_000; answer === undefined && performance.now() < end; ) {
    answer = await ask(web.port).catch((error: NodeJS.ErrnoException) => {
      assert.equal(error.code, "ECONNREFUSED");
      return undefined;
    });
  }
  assert.ok(answer !== undefined && answer > 1);
});

testBoth("metrics, `status` and events show the connections of each backend", async (context) => {
  const web = await cluster(context, { instances: 2 });
  const client = await api(web);
  const over = new AbortController();
  const texts: string[] = [];
  const events = (async () => {
    for await (const event of client.events(undefined, over.signal))
      if (event.type === "process.state" && event.text !== undefined)
        texts.push(`${event.process.id} ${event.text}, total ${event.process.backend?.totalConnections}`);
  })().catch((error: Error) => {
    if (!over.signal.aborted) throw error;
  });
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  for (let turn = 0; turn < 6; turn++) await ask(web.port);
  const totals = (instances: readonly ProcessRecord[] = []): readonly number[] =>
    instances.map(({ backend }) => backend?.totalConnections ?? 0);
  const areOver = (instances: readonly ProcessRecord[] = []): boolean =>
    instances.every(({ backend }) => backend?.connections === 0);
  // Each process of the balancer reports separately.
  const allCounted = ({ instances }: ProcessRecord): boolean =>
    areOver(instances) && totals(instances).reduce((sum, each) => sum + each, 0) === 6;
  const { instances } = await waitForRecord(client, "web", allCounted);
  assert.ok(
    totals(instances).every((total) => total >= 2),
    `in turn: ${totals(instances)}`,
  );
  const text = await client.prometheus();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  const of = (id: string): string => `{process="${id}",cluster="web"}`;
  assert.equal(
    value(`procman_backend_connections_total${of("web-1")}`) + value(`procman_backend_connections_total${of("web-2")}`),
    6,
  );
  assert.ok(value(`procman_backend_sent_bytes_total${of("web-2")}`) > 0);
  assert.equal(value(`procman_backend_accepting${of("web-1")}`), 1);
  assert.equal(value(`procman_balancer_listening{cluster="web"}`), 1);
  assert.equal(value(`procman_balancer_rejected_total{cluster="web"}`), 0);
  assert.match((await cli(web.procman.folder, ["status"])).out, /CONNECTIONS/);
  const { pid = 0 } = await client.process("web-2");
  assert.ok(pid > 1);
  process.kill(pid, "SIGKILL");
  await eventually(() =>
    texts.some((line) => /^web-2 accepts connections, total \d+$/.test(line)) ? true : undefined,
  );
  over.abort();
  await events;
});

testBoth(
  "a reload sets and removes a limit of connections without a restart; clients beyond the limit wait",
  async (context) => {
    const web = await cluster(context, { instances: 2 });
    const client = await api(web);
    const pids = async (): Promise<readonly (number | undefined)[]> =>
      ((await client.process("web")).instances ?? []).map(({ pid }) => pid);
    for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
    const before = await pids();
    const file = join(web.procman.folder, "procman.json");
    const { processes } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly processes: readonly [{ readonly cluster: object }];
    };
    const reload = async (fields: object): Promise<void> => {
      writeFileSync(
        file,
        JSON.stringify({ processes: [{ ...processes[0], cluster: { ...processes[0].cluster, ...fields } }] }),
      );
      const { code, err } = await cli(web.procman.folder, ["reload"]);
      assert.equal(code, 0, err);
    };
    const agents = Array.from({ length: 5 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    context.after(() => {
      for (const agent of agents) agent.destroy();
    });
    const [first, second, ...others] = agents;
    await reload({ maxConnections: 1 });
    assert.deepEqual([await ask(web.port, first), await ask(web.port, second)].sort(), [...before].sort());
    const waiting = ask(web.port);
    await waitForRecord(client, "web", ({ balancer }) => balancer?.waiting === 1);
    first?.destroy();
    assert.ok(before.includes(await waiting));
    await reload({});
    for (const agent of others) assert.ok(before.includes(await ask(web.port, agent)));
    assert.deepEqual(await pids(), before);
  },
);

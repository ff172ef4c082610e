/** A cluster behind its common port, with procman as users start it: what its clients notice of restarts, crashes and kills. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "../../src/client/client.ts";
import { fetchSend } from "../../src/client/send.ts";
import { payloadOf } from "../../src/contract/claims.ts";
import type { Endpoint, ProcessRecord } from "../../src/contract/records.ts";
import { signJwt } from "../../src/os/jwt.ts";
import { freePort } from "../balancer-rig.ts";
import { found, gone, isAlive, type Procman, running } from "../procman.ts";

const POLITE = fileURLToPath(new URL("../programs/polite.js", import.meta.url));

type Cluster = { readonly procman: Procman; readonly port: number; readonly startPort: number };

/** Ports in a row that nobody else takes meanwhile, most likely. */
async function freeRange(): Promise<number> {
  return 20_000 + Math.floor((await freePort()) / 8);
}

async function cluster(context: TestContext, fields: object = {}, env: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  const [port, startPort] = [await freePort(), await freeRange()];
  const shape = { instances: 3, startPort, commonPort: port, ...fields };
  const procman = await running(context, [{ id: "web", cmd: `node ${POLITE}`, autostart: true, restart: "always", env, cluster: shape }]);
  return { procman, port, startPort };
}

async function api({ procman }: Cluster): Promise<Client> {
  const state = join(procman.folder, ".procman/procman");
  const endpoint = await found(() => {
    const file = join(state, "endpoint.json");
    const now = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return now !== undefined && isAlive(now.pid) ? now : undefined;
  });
  const token = signJwt(payloadOf({ audience: "procman", consumer: "test", scopes: ["admin"] }), readFileSync(join(state, "secret")));
  return new Client(fetchSend({ url: `http://${endpoint.hostname}:${endpoint.port}`, token }));
}

/** Waits until the record of this id fits. */
async function record(client: Client, id: string, fits: (record: ProcessRecord) => boolean): Promise<ProcessRecord> {
  for (const end = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const found = await client.process(id);
    if (fits(found)) return found;
    assert.ok(Date.now() < end, `${id} stays ${JSON.stringify(found)}`);
  }
}

const accepting = ({ backend }: ProcessRecord): boolean => backend?.accepting === true;

function ask(port: number, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: "127.0.0.1", ...(agent === undefined ? { agent: false } : { agent }) }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("end", () => resolve(Number(text))).once("error", reject);
    });
    request.once("error", reject);
  });
}

/** Clients that ask one request after the other, half of them over connections that they keep; until `stop`. */
class Crowd {
  readonly errors: string[] = [];
  readonly pids = new Set<number>();
  requests = 0;
  #isOver = false;
  readonly #clients: readonly Promise<void>[];

  constructor(port: number, count: number) {
    this.#clients = Array.from({ length: count }, (_, index) => this.#run(port, index % 2 === 0));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #run(port: number, keeps: boolean): Promise<void> {
    const agent = keeps ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined;
    while (!this.#isOver) {
      try {
        this.pids.add(await ask(port, agent));
        this.requests += 1;
      } catch (error) {
        this.errors.push(`${keeps ? "kept" : "new"}: ${(error as Error).message}`);
      }
    }
    agent?.destroy();
  }
}

test("2.2 every instance gets its share through the common port, and status shows it", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await record(client, id, accepting);
  const pids = new Set<number>();
  for (let turn = 0; turn < 12; turn++) pids.add(await ask(web.port));
  assert.equal(pids.size, 3);
  const { instances = [], balancer } = await record(
    client,
    "web",
    ({ instances: all = [] }) => all.reduce((sum, { backend }) => sum + (backend?.totalConnections ?? 0), 0) === 12,
  );
  assert.deepEqual(balancer, { hostname: "127.0.0.1", port: web.port, strategy: "round-robin", waiting: 0, rejected: 0 });
  for (const { backend } of instances) assert.ok((backend?.totalConnections ?? 0) >= 2 && (backend?.sentBytes ?? 0) > 0);
});

test("no request fails while the instances are restarted one after the other, and then all at once", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await record(client, id, accepting);
  const crowd = new Crowd(web.port, 20);
  for (const id of ["web-1", "web-2", "web-3"]) {
    const { run = 0 } = await client.process(id);
    await client.act(id, "restart");
    await record(client, id, (now) => (now.run ?? 0) > run && accepting(now));
  }
  const before = (await client.process("web")).instances ?? [];
  await client.act("web", "restart");
  for (const { id, run = 0 } of before) await record(client, id, (now) => (now.run ?? 0) > run && accepting(now));
  await crowd.stop();
  assert.deepEqual(crowd.errors, []);
  assert.ok(crowd.requests > 100 && crowd.pids.size >= 9, `${crowd.requests} requests, ${crowd.pids.size} pids`);
});

test("an instance that is killed takes its own connections with it and nobody else's; clients that come get others", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await record(client, id, accepting);
  for (let kill = 0; kill < 3; kill++) {
    const { pid = 0 } = await client.process("web-2");
    assert.ok(pid > 1);
    process.kill(pid, "SIGKILL");
    // A dying process still takes a connection; a dead one is met by none.
    await gone(pid);
    for (let turn = 0; turn < 20; turn++) await ask(web.port);
    await record(client, "web-2", (now) => now.pid !== pid && accepting(now));
  }
});

test("connections outlive service and keeper, whoever is killed; a new connection works at any time", async (context) => {
  const web = await cluster(context);
  const { procman, port } = web;
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await record(client, id, accepting);
  const balancer = procman.helper("balancer");
  const crowd = new Crowd(port, 6);
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await procman.line(/the service ended \(SIGKILL\); it is started again/);
  const second = await api(web);
  await record(second, "web-1", accepting);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const third = await api(web);
  await record(third, "web-1", accepting);
  const { run = 0 } = await third.process("web-1");
  await third.act("web-1", "restart");
  await record(third, "web-1", (now) => (now.run ?? 0) > run && accepting(now));
  await crowd.stop();
  assert.deepEqual(crowd.errors, []);
  assert.ok(isAlive(balancer) && crowd.requests > 20);
  await procman.stopHolder();
  await gone(balancer);
  await assert.rejects(ask(port));
});

test("a balancer that is killed is back at once", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await record(client, id, accepting);
  process.kill(web.procman.helper("balancer"), "SIGKILL");
  const start = performance.now();
  for (let isBack = false; !isBack; ) {
    isBack = await ask(web.port).then(
      () => true,
      () => false,
    );
    assert.ok(performance.now() - start < 10_000);
  }
  await web.procman.line(/the balancer ended \(SIGKILL\); it is started again, connections through it are broken/);
  await record(client, "web-3", accepting);
});

test("one that is killed after its keeper was is started again by the next keeper", async (context) => {
  const web = await cluster(context);
  await record(await api(web), "web-1", accepting);
  const balancer = web.procman.helper("balancer");
  process.kill(web.procman.pid, "SIGKILL");
  await web.procman.successor();
  await record(await api(web), "web-1", accepting);
  process.kill(balancer, "SIGKILL");
  await web.procman.line(/the balancer ended; it is started again/);
  await found(() => (isAlive(balancer) ? undefined : true));
  const start = performance.now();
  let isBack = false;
  while (!isBack && performance.now() - start < 10_000)
    isBack = await ask(web.port).then(
      () => true,
      () => false,
    );
  assert.ok(isBack);
});

test("a common port in use: who has it is said, status shows it, the instances run, and it is served when it is free", async (context) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => holder.once("listening", resolve));
  const { port } = holder.address() as { readonly port: number };
  const web = await cluster(context, { commonPort: port });
  await web.procman.line(
    new RegExp(`web .* Cannot listen on 127.0.0.1:${port}: the port is in use by .+ \\(pid ${process.pid}\\); it is tried again`),
  );
  const client = await api(web);
  const { reason, instances = [] } = await record(client, "web", ({ balancer }) => balancer?.problem !== undefined);
  assert.match(reason, /3 of 3 instances are running; nobody listens on 127\.0\.0\.1:\d+: the port is in use by/);
  assert.equal(instances.length, 3);
  holder.close();
  await web.procman.line(/web .* the load balancer listens on 127\.0\.0\.1:\d+ now/);
  await record(client, "web-1", accepting);
  assert.ok((await ask(port)) > 1);
});

test("an instance that runs but doesn't listen on its port says so in its reason, and others serve for it", async (context) => {
  const [port, startPort] = [await freePort(), await freeRange()];
  const cmd = `PORT=$((PROCMAN_CLUSTER_PORT + 100 * (PROCMAN_CLUSTER_INSTANCE == 1))) exec node ${POLITE}`;
  const procman = await running(context, [{ id: "web", cmd, autostart: true, cluster: { instances: 2, startPort, commonPort: port } }]);
  const client = await api({ procman, port, startPort });
  await record(client, "web-1", accepting);
  const { status } = await record(client, "web-2", ({ reason }) =>
    reason.includes(`accepts no connections on its port 127.0.0.1:${startPort + 1}`),
  );
  assert.equal(status, "running");
  assert.ok((await ask(port)) > 1);
});

test("clients that come before the instances listen wait for them", async (context) => {
  const web = await cluster(context, {}, { LATE: "700" });
  // Refused until the port is open; from then on nobody is.
  let answer: number | undefined;
  for (const end = Date.now() + 30_000; answer === undefined && Date.now() < end; ) {
    answer = await ask(web.port).catch((error: NodeJS.ErrnoException) => {
      assert.equal(error.code, "ECONNREFUSED");
      return undefined;
    });
  }
  assert.ok(answer !== undefined && answer > 1);
});

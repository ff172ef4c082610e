/** Readiness and health probes with real programs: what waits for them, and what a kill of procman changes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { procman as cli } from "../support/cli.ts";
import { DRAINING_SERVER, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, isAlive, type ProcessConfig, type Procman, startProcman } from "../support/procman-process.ts";
import { client } from "../support/product.ts";

const RETRYING_SERVER = fileURLToPath(new URL("../programs/retry-listening.js", import.meta.url));

async function api(procman: Procman): Promise<Client> {
  const state = join(procman.folder, ".procman/procman");
  const endpoint = await eventually(() => {
    const file = join(state, "endpoint.json");
    const now = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return now !== undefined && isAlive(now.pid) ? now : undefined;
  });
  const token = signJwt(
    payloadOf({ audience: "procman", consumer: "test", scopes: ["admin"] }),
    readFileSync(join(state, "secret")),
  );
  const { connect } = await client();
  return connect({ url: `http://${endpoint.hostname}:${endpoint.port}`, token });
}

const start = (context: TestContext, ...processes: readonly ProcessConfig[]) => startProcman(context, processes);

/** Creates `file` in the folder of the configuration; the programs below wait for it. */
const allow = (procman: Procman, file = "go") => writeFileSync(join(procman.folder, file), "");
const WAIT = "while ! test -e go; do sleep 0.02; done";

const READY = /\| ready after/;
const isReady = (procman: Procman): boolean => procman.lines.some((line) => READY.test(line));

for (const [what, cmd, ready] of [
  ["a line of its output", `${WAIT}; echo listening on 80; exec sleep 1000`, { log: "^listening on \\d+$" }],
  ["a descriptor that it writes to", `${WAIT}; echo >&4; exec sleep 1000`, { fd: 4 }],
  ["a command", "exec sleep 1000", { exec: "test -e go" }],
] as const)
  test(`a run becomes ready by ${what}, also when the service was killed before that`, async (context) => {
    const procman = await start(context, { id: "web", cmd, autostart: true, ready });
    await procman.line(/web +\| started/);
    const client = await api(procman);
    const before = await client.process("web");
    assert.equal(before.ready, false);
    assert.match(before.reason, /^runs, is not ready yet/);
    process.kill(procman.helper("service"), "SIGKILL");
    await procman.line(/the service ended/);
    const again = await api(procman);
    assert.equal(isReady(procman), false);
    allow(procman);
    await procman.line(READY);
    const after = await again.process("web");
    assert.deepEqual([after.ready, after.pid, after.run, after.reason], [true, before.pid, 1, "runs"]);
    const run = join(procman.stateDir, "run");
    assert.equal(await procman.stop(), 0);
    assert.deepEqual(readdirSync(run), [], "an end in order leaves nothing");
  });

test("a run becomes ready by a message that it sent while no service was running", async (context) => {
  const procman = await start(context, {
    id: "web",
    cmd: `${WAIT}; echo >&3; echo ready; touch said; exec sleep 1000`,
    autostart: true,
    ready: { fd: 3 },
  });
  await procman.line(/web +\| started/);
  const service = procman.helper("service");
  // The service hangs, and is killed before it can look.
  process.kill(service, "SIGSTOP");
  allow(procman);
  await eventually(() => (existsSync(join(procman.folder, "said")) ? true : undefined));
  process.kill(service, "SIGKILL");
  await procman.line(READY);
});

test("a run becomes ready by its open port, and by an answer from it", async (context) => {
  const [port, other] = [await freePort(), await freePort()];
  const server = `${WAIT}; exec node -e 'require("http").createServer((q,s)=>s.writeHead(q.url=="/up"?200:404).end()).listen(${port},"127.0.0.1")'`;
  const procman = await start(
    context,
    { id: "web", cmd: server, autostart: true, ready: { http: `http://localhost:${port}/up` } },
    // By a child in a separate session: processes that started later may belong to the run.
    {
      id: "other",
      cmd: `${WAIT}; setsid node ${RETRYING_SERVER} & wait`,
      env: { PORT: `${other}` },
      autostart: true,
      ready: { port: other },
    },
  );
  await procman.line(/other +\| started/);
  const client = await api(procman);
  assert.match(
    (await client.process("other")).reason,
    new RegExp(`is not ready yet \\(127.0.0.1:${other} refuses connections\\)`),
  );
  allow(procman);
  await procman.count(READY, 2);
});

test("a run isn't ready if another program answers on its port: that program is named, and the run is ready when it has the port", async (context) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  context.after(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const procman = await start(
    context,
    { id: "patient", cmd: `node ${RETRYING_SERVER}`, env: { PORT: `${port}` }, autostart: true, ready: { port } },
    {
      id: "hasty",
      cmd: `node ${DRAINING_SERVER}`,
      env: { PORT: `${port}` },
      autostart: true,
      restartLimit: 0,
      ready: { port },
    },
  );
  const held = `its port ${port} is in use by .+ \\(pid ${process.pid}\\); stop it, or choose another port`;
  await procman.line(new RegExp(`hasty .*exited with code 1 \\(${held}\\) after .*; no restart is allowed`));
  const client = await api(procman);
  const waits = new RegExp(`^runs, is not ready yet \\(${held}\\)$`);
  await waitForRecord(client, "patient", ({ reason }) => waits.test(reason));
  assert.match(
    (await client.process("hasty")).reason,
    new RegExp(`^exited with code 1 \\(${held}\\); no restart is allowed$`),
  );
  const why = await cli(procman.folder, ["why", "hasty"]);
  assert.match(why.out, new RegExp(`\\(${held}\\)`));
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  const again = await api(procman);
  assert.match((await again.process("hasty")).reason, new RegExp(`\\(${held}\\)`), "the next service knows it, too");
  assert.equal(isReady(procman), false);
  holder.close();
  await procman.line(/patient .*ready after/);
  assert.equal((await again.process("patient")).ready, true);
});

test("a start with `wait` waits until the process is ready", async (context) => {
  const procman = await start(context, { id: "web", cmd: "sleep 1000", ready: { exec: "test -e go" } });
  const client = await api(procman);
  let isStarted = false;
  const started = client.act("web", "start", { waitSeconds: 30 }).then((record) => {
    isStarted = true;
    return record;
  });
  await procman.line(/web +\| started/);
  assert.equal((await client.process("web")).status, "running");
  assert.equal(isStarted, false);
  allow(procman);
  assert.equal((await started).ready, true);
});

test("a run that isn't ready in time is stopped and restarted by its policy; record, answer and incident say why", async (context) => {
  const procman = await start(context, {
    id: "web",
    cmd: "sleep 1000",
    restart: "error",
    restartLimit: 1,
    ready: { exec: "false", timeout: 0.3 },
  });
  const client = await api(procman);
  await assert.rejects(
    client.act("web", "start", { waitSeconds: 30 }),
    /Cannot start "web": it .*was not ready within 300 ms \(its check ends with code 1\)/,
  );
  const record = await waitForRecord(client, "web", ({ status }) => status === "exhausted");
  assert.deepEqual([record.restarts, record.ready], [1, undefined]);
  assert.match(
    record.reason,
    /^was not ready within 300 ms \(its check ends with code 1\); it was killed by SIGTERM; its one restart is used up$/,
  );
  const incidents = await client.incidents("web");
  assert.deepEqual(
    incidents.map(({ cause }) => cause),
    ["unready", "unready"],
  );
});

test("a run that listens on another port than that of `ready` is told so, with its port", async (context) => {
  const [port, other] = [await freePort(), await freePort()];
  const cmd = `PORT=${other} node ${DRAINING_SERVER}`;
  const procman = await start(context, {
    id: "web",
    cmd,
    autostart: true,
    restart: "never",
    ready: { port, timeout: 2 },
  });
  await procman.line(
    new RegExp(
      `web +\\| was not ready within 2 s \\(127\\.0\\.0\\.1:${port} refuses connections; it listens on ${other}\\)`,
    ),
  );
});

test("a run whose health check asks another port than its own is told so, with its port", async (context) => {
  const [port, other] = [await freePort(), await freePort()];
  const procman = await start(context, {
    id: "web",
    cmd: `PORT=${other} node ${DRAINING_SERVER}`,
    autostart: true,
    restart: "never",
    health: { port, interval: 0.1, failures: 1 },
  });
  const client = await api(procman);
  const ill = new RegExp(`is not healthy \\(127\\.0\\.0\\.1:${port} refuses connections; it listens on ${other}\\)`);
  await waitForRecord(client, "web", ({ reason }) => ill.test(reason));
});

test("the load balancer sends no client to an instance that isn't ready", async (context) => {
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const server = `exec node -e 'require("http").createServer((q,s)=>s.end(process.env.PROCMAN_CLUSTER_INSTANCE)).listen(process.env.PROCMAN_CLUSTER_PORT,"127.0.0.1")'`;
  const procman = await start(context, {
    id: "web",
    cmd: server,
    autostart: true,
    ready: { exec: "test -e go-$PROCMAN_CLUSTER_INSTANCE" },
    cluster: { instances: 2, startPort, commonPort },
  });
  allow(procman, "go-1");
  await procman.line(/web-2 +\| ready after/);
  const client = await api(procman);
  const accepts = (id: string): Promise<ProcessRecord> =>
    eventually(async () => {
      const record = await client.process(id);
      return record.backend?.accepting === true ? record : undefined;
    });
  await accepts("web-2");
  const ask = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${commonPort}`, { headers: { connection: "close" } })).text();
  const answers = new Set(await Promise.all(Array.from({ length: 20 }, ask)));
  assert.deepEqual([...answers], ["1"]);
  const waiting = await client.process("web-1");
  assert.deepEqual([waiting.ready, waiting.backend?.accepting], [false, false]);
  allow(procman, "go-0");
  await accepts("web-1");
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 20 }, ask))), new Set(["0", "1"]));
});

test("an unhealthy run is restarted, with the cause; the next service continues its health checks", async (context) => {
  const health = { exec: "test -e go", interval: 0.1, failures: 2, startPeriod: 60 };
  const procman = await start(context, { id: "web", cmd: "exec sleep 1000", autostart: true, health });
  await procman.line(/web +\| started/);
  const client = await api(procman);
  allow(procman);
  const well = await healthy(client, "web", true);
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  rmSync(join(procman.folder, "go"));
  await procman.line(/web +\| failed its health checks \(its check ends with code 1\); stopping/);
  await procman.count(/web +\| started/, 2);
  const again = await api(procman);
  allow(procman);
  const after = await healthy(again, "web", true);
  assert.deepEqual([after.run, after.restarts, after.pid === well.pid], [2, 1, false]);
  const [incident] = await again.incidents("web");
  assert.equal(incident?.cause, "unhealthy");
  assert.match(
    incident?.reason ?? "",
    /^was stopped because it failed its health checks \(its check ends with code 1\); it was killed by SIGTERM/,
  );
});

test("an unhealthy run without a restart policy keeps running without connections, until it is healthy again", async (context) => {
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const server = `exec node -e 'require("http").createServer((q,s)=>s.end("x")).listen(process.env.PROCMAN_CLUSTER_PORT,"127.0.0.1")'`;
  const procman = await start(context, {
    id: "web",
    cmd: server,
    health: { exec: "test -e go", interval: 0.1, failures: 1 },
    cluster: { instances: 1, startPort, commonPort },
  });
  const client = await api(procman);
  allow(procman);
  await client.act("web", "start");
  const well = await healthy(client, "web-1", true, true);
  rmSync(join(procman.folder, "go"));
  const ill = await healthy(client, "web-1", false, false);
  assert.match(ill.reason, /^runs, but is not healthy \(its check ends with code 1\)/);
  allow(procman);
  const after = await healthy(client, "web-1", true, true);
  assert.deepEqual([ill.pid, after.pid, after.run], [well.pid, well.pid, 1]);
  await procman.line(/web-1 +\| is healthy again/);
});

/** Its record, once its health and its place in the rotation are as given. */
function healthy(client: Client, id: string, good: boolean, accepting?: boolean): Promise<ProcessRecord> {
  return eventually(async () => {
    const record = await client.process(id);
    return record.healthy === good && record.backend?.accepting === accepting ? record : undefined;
  });
}

test("a slow regular expression and a slow pattern of watch hold up neither the API nor the restart of another process", async (context) => {
  const procman = await startProcman(
    context,
    [
      {
        id: "slow",
        cmd: "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!; sleep 0.1; done",
        autostart: true,
        ready: { log: "^(a+)+$" },
      },
      { id: "watching", cmd: "exec sleep 1000", autostart: true, watch: ["src/*a*a*a*a*a*a*a*a*a*b"] },
      { id: "other", cmd: "exec sleep 1000", autostart: true, restart: "always" },
    ],
    { config: { watcher: { interval: 10 } } },
  );
  const control = await api(procman);
  await waitForRecord(control, "slow", ({ reason }) => reason.includes("takes too long"));
  mkdirSync(join(procman.folder, "src"));
  writeFileSync(join(procman.folder, "src", `${"a".repeat(120)}.js`), "");
  for (let round = 0; round < 5; round++) {
    const before = procman.lines.length;
    const { pid = 0 } = await control.process("other");
    const began = performance.now();
    process.kill(pid, "SIGKILL");
    await procman.line(/^other +\| started/, before);
    await control.process("other");
    const ms = performance.now() - began;
    assertWithin(2_000, ms, `the restart of round ${round}`);
  }
});

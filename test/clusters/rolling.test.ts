/** Rolling restarts of a cluster of a running procman: docs/guide/clusters.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import { procman as cli } from "../support/cli.ts";
import { api, cluster, DRAINING_SERVER, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

const SLOW_SERVER = fileURLToPath(new URL("../programs/serve-one-at-a-time.py", import.meta.url));
const IDS = ["web-1", "web-2", "web-3"];

async function pidsOf(client: Client): Promise<readonly number[]> {
  return ((await client.process("web")).instances ?? []).map(({ pid = 0 }) => pid);
}

/** A cluster whose next runs fail while the file `broken` is there. */
async function startBreakable(
  context: TestContext,
): Promise<{ readonly procman: Procman; readonly port: number; readonly client: Client }> {
  const [port, startPort] = [await freePort(), await freeRange()];
  const cmd = `test ! -e broken && exec node ${DRAINING_SERVER}`;
  const shape = { instances: 3, startPort, commonPort: port };
  const procman = await startProcman(context, [
    { id: "web", cmd, autostart: true, restart: "always", restartDelayMs: 200, cluster: shape },
  ]);
  const client = await api({ procman });
  for (const id of IDS) await waitForRecord(client, id, isAccepting);
  return { procman, port, client };
}

test("a rolling restart restarts one instance after another, never two at once, and no request fails", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of IDS) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  const load = new LoadGenerator(context, web.port, 12);
  const over = new AbortController();
  const away: number[] = [];
  const watching = (async () => {
    for await (const event of client.events(undefined, over.signal)) {
      if (event.type !== "process.state") continue;
      const { instances = [] } = await client.process("web");
      away.push(instances.filter(({ status }) => status !== "running").length);
    }
  })().catch((error: Error) => {
    if (!over.signal.aborted) throw error;
  });
  const { instances = [] } = await client.act("web", "restart", { waitSeconds: 60 });
  assert.ok(instances.every(isAccepting));
  over.abort();
  await watching;
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.ok(away.length > 0 && away.every((count) => count <= 1), away.join());
  const after = await pidsOf(client);
  assert.equal(new Set([...before, ...after]).size, 6);
  await web.procman.line(/web .*the rolling restart is done/);
});

test("in a rolling restart an overloaded instance serves all clients that have connected to it before it ends", async (context) => {
  if (isMissing(context, "python3")) return;
  const [port, startPort] = [await freePort(), await freeRange()];
  const shape = { instances: 2, startPort, commonPort: port };
  const procman = await startProcman(context, [
    { id: "web", cmd: `exec python3 ${SLOW_SERVER}`, autostart: true, restart: "always", cluster: shape },
  ]);
  const client = await api({ procman });
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  const load = new LoadGenerator(context, port, 8);
  await eventually(() => (before.every((pid) => load.pids.has(pid)) ? true : undefined));
  await client.act("web", "restart", { waitSeconds: 60 });
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.equal(new Set([...before, ...(await pidsOf(client))]).size, 4);
});

test("a reload of a cluster continues only when the previous instance gets connections, however late that listens", async (context) => {
  const [port, startPort] = [await freePort(), await freeRange()];
  const shape = { instances: 2, startPort, commonPort: port };
  const web = (LATE: string) => ({
    id: "web",
    cmd: `node ${DRAINING_SERVER}`,
    autostart: true,
    restart: "always",
    env: { LATE },
    cluster: shape,
  });
  const procman = await startProcman(context, [web("0")]);
  const client = await api({ procman });
  for (const id of ["web-1", "web-2"]) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes: [web("1500")] }));
  const load = new LoadGenerator(context, port, 4);
  const reloaded = client.reload({ waitSeconds: 60 }).then(() => true);
  for (let isOver = false; !isOver; ) {
    const { instances = [] } = await client.process("web");
    assert.ok(
      instances.some(isAccepting),
      JSON.stringify(instances.map(({ status, run, backend }) => ({ status, run, backend }))),
    );
    isOver = await Promise.race([reloaded, new Promise<false>((resolve) => setTimeout(resolve, 20, false))]);
  }
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.equal(new Set([...before, ...(await pidsOf(client))]).size, 4);
});

test("a rolling restart ends if an instance doesn't come up: the others keep running, and the failure is reported", async (context) => {
  const { procman, port, client } = await startBreakable(context);
  const [, second, third] = await pidsOf(client);
  writeFileSync(join(procman.folder, "broken"), "");
  const load = new LoadGenerator(context, port, 6);
  const { code, err } = await cli(procman.folder, ["restart", "web"]);
  await load.stop();
  assert.equal(code, 1);
  assert.match(
    err,
    /Cannot restart "web" any further: "web-1" did not come up: it .*; web-2, web-3 keep running as before/,
  );
  await procman.line(/web .*Cannot restart "web" any further: "web-1" did not come up/);
  assert.deepEqual(load.errors, []);
  assert.deepEqual((await pidsOf(client)).slice(1), [second, third]);
});

test("a rolling restart is continued by the next service after a kill", async (context) => {
  const web = await cluster(context, {}, { LATE: "300" });
  const client = await api(web);
  for (const id of IDS) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  const load = new LoadGenerator(context, web.port, 6);
  await client.act("web", "restart");
  await waitForRecord(client, "web-1", ({ pid, status }) => status === "running" && pid !== before[0]);
  process.kill(web.procman.helper("service"), "SIGKILL");
  await web.procman.line(/web .*resuming the rolling restart at "web-[12]"/);
  await web.procman.line(/web .*the rolling restart is done/);
  const next = await api(web);
  for (const id of IDS) await waitForRecord(next, id, isAccepting);
  await load.stop();
  assert.deepEqual(load.errors, []);
  assert.equal(new Set([...before, ...(await pidsOf(next))]).size, 6);
});

test("during a rolling restart a second one is refused; restart --hard and a stop end the first", async (context) => {
  const web = await cluster(context, {}, { LATE: "500" });
  const client = await api(web);
  for (const id of IDS) await waitForRecord(client, id, isAccepting);
  const before = await pidsOf(client);
  await client.act("web", "restart");
  await assert.rejects(client.act("web", "restart"), { code: "roll-running" });
  await client.act("web", "restart", { hard: true, waitSeconds: 30 });
  assert.equal(new Set([...before, ...(await pidsOf(client))]).size >= 6, true);
  await web.procman.line(/the rolling restart ends at "web-1": restart was requested/);
  for (const id of IDS) await waitForRecord(client, id, isAccepting);
  const waiting = client.act("web", "restart", { waitSeconds: 30 });
  const refused = assert.rejects(waiting, { code: "roll-failed" });
  await client.act("web", "stop", { waitSeconds: 30 });
  await refused;
  await eventually(() => (web.procman.lines.some((line) => /stop was requested/.test(line)) ? true : undefined));
  assert.ok(((await client.process("web")).instances ?? []).every(({ status }) => status === "stopped"));
});

/** A bad release is never rolled out to all instances: docs/guide/clusters.md, docs/guide/reload.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { api, clientOf, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { type Procman, startProcman } from "../support/procman-process.ts";
import { writeWhole } from "../support/whole-file.ts";

const SERVER = fileURLToPath(new URL("../programs/serve-release.cjs", import.meta.url));
const IDS = ["web-1", "web-2", "web-3"];
/** It fails when the former code had counted it as up for long: before it listens, or after. */
const BAD = { throws: 1_600 };

type Release = { readonly late?: number; readonly throws?: number; readonly ends?: number; readonly sick?: boolean };
type Mode = "balance" | "share" | "without a port";
type Web = {
  readonly procman: Procman;
  readonly client: Client;
  readonly port: number;
  readonly write: (fields: object) => void;
};

const SHAPES = {
  balance: async () => ({ startPort: await freeRange(), commonPort: await freePort() }),
  share: async () => ({ mode: "share", commonPort: await freePort() }),
  "without a port": async () => ({ startPort: await freeRange() }),
} as const;

function release({ procman }: Web, now: Release): void {
  writeWhole(join(procman.folder, "release.json"), JSON.stringify(now));
}

/** Three instances that run a good release. */
async function serving(context: TestContext, mode: Mode, fields: object = {}): Promise<Web> {
  const cluster = { instances: 3, ...(await SHAPES[mode]()) };
  const web = (more: object) => ({
    id: "web",
    cmd: `exec node ${SERVER}`,
    autostart: true,
    restart: "always",
    ...fields,
    ...more,
    cluster: { ...cluster, ...("cluster" in more && (more.cluster as object)) },
  });
  const procman = await startProcman(context, [web({ env: { RELEASE: "{}" } })]);
  const client = await api({ procman });
  const write = (more: object): void =>
    writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes: [web(more)] }));
  const rig = { procman, client, port: "commonPort" in cluster ? cluster.commonPort : cluster.startPort, write };
  release(rig, {});
  write({});
  assert.equal((await cli(procman.folder, ["reload"])).code, 0);
  return rig;
}

async function instancesOf({ client }: Web): Promise<readonly ProcessRecord[]> {
  return (await client.process("web")).instances ?? [];
}

async function pidsOf(web: Web): Promise<readonly (number | undefined)[]> {
  return (await instancesOf(web)).map(({ pid }) => pid);
}

for (const [mode, bad, fields] of [
  ["share", { ...BAD, late: 60_000 }, {}],
  ["balance", BAD, { minUptimeMs: 3_000 }],
  ["without a port", BAD, { minUptimeMs: 3_000 }],
] as const) {
  const what = "late" in bad ? "fails before it accepts" : "fails some time after it has begun to serve";
  test(`${mode}: a release that ${what} stops at the first instance: restart, reload and changed files`, async (context) => {
    const watch = { watch: ["release.json"] };
    const web = await serving(context, mode, fields);
    const [, ...others] = await pidsOf(web);
    const load = mode === "without a port" ? undefined : new LoadGenerator(context, web.port, 6);
    release(web, bad);
    const restarted = await cli(web.procman.folder, ["restart", "web"]);
    assert.equal(restarted.code, 1, restarted.err);
    assert.match(
      restarted.err,
      /Cannot restart "web" any further: "web-1" did not come up: it exited with code 1 after .*; web-2, web-3 keep running as before/,
    );
    assert.deepEqual((await pidsOf(web)).slice(1), others);
    release(web, {});
    await waitForRecord(web.client, "web-1", ({ status, restarts }) => status === "running" && restarts > 0);
    assert.equal((await cli(web.procman.folder, ["restart", "web-1"])).code, 0);
    web.write({ env: { RELEASE: JSON.stringify(bad) } });
    const reloaded = await cli(web.procman.folder, ["reload"]);
    assert.equal(reloaded.code, 1, reloaded.err);
    assert.match(
      reloaded.err,
      /"web-1" did not come up with the new configuration: it .*; the previous configuration is restored/,
    );
    await web.procman.line(/rolled back to the previous configuration/);
    assert.deepEqual((await pidsOf(web)).slice(1), others);
    web.write(watch);
    assert.equal((await cli(web.procman.folder, ["reload"])).code, 0);
    release(web, bad);
    await web.procman.line(
      /Cannot restart "web" any further: "web-1" did not come up: .*; with the next change "web-1" is tried first/,
    );
    assert.deepEqual((await pidsOf(web)).slice(1), others);
    await load?.stop();
    // A release that fails while it serves fails its clients.
    if (mode === "share") assert.deepEqual(load?.errors, []);
  });
}

for (const mode of ["balance", "share"] as const)
  test(`${mode}: a release that ends with code 0 serves nobody, and stops at the first instance`, async (context) => {
    const web = await serving(context, mode, { restart: "error" });
    const [, ...others] = await pidsOf(web);
    release(web, { ends: 300 });
    const restarted = await cli(web.procman.folder, ["restart", "web"]);
    assert.equal(restarted.code, 1, restarted.err);
    assert.match(
      restarted.err,
      /"web-1" did not come up: it finished by itself with code 0; web-2, web-3 keep running as before/,
    );
    const started = await cli(web.procman.folder, ["start", "web-1"]);
    assert.equal(started.code, 1, started.err);
    release(web, {});
    assert.equal((await cli(web.procman.folder, ["start", "web-1"])).code, 0);
    web.write({ restart: "error", env: { RELEASE: '{"ends":300}' } });
    const reloaded = await cli(web.procman.folder, ["reload"]);
    assert.equal(reloaded.code, 1, reloaded.err);
    assert.match(
      reloaded.err,
      /"web-1" did not come up with the new configuration: it finished by itself .*; the previous configuration is restored/,
    );
    await web.procman.line(/rolled back to the previous configuration/);
    assert.deepEqual((await pidsOf(web)).slice(1), others);
    assert.equal((await instancesOf(web))[0]?.status, "running");
  });

test("share: while good code loads for some seconds, all clients are served, and each instance follows when the one before accepts", async (context) => {
  const web = await serving(context, "share");
  release(web, { late: 3_000 });
  const before = await pidsOf(web);
  const load = new LoadGenerator(context, web.port, 6);
  const began = performance.now();
  const restarting = cli(web.procman.folder, ["restart", "web"]);
  let longest = 0;
  for (let isOver = false, last = load.requests, at = performance.now(); !isOver; ) {
    isOver = await Promise.race([
      restarting.then(() => true),
      new Promise<false>((resolve) => setTimeout(resolve, 20, false)),
    ]);
    if (load.requests > last) [last, at] = [load.requests, performance.now()];
    longest = Math.max(longest, performance.now() - at);
  }
  assert.equal((await restarting).code, 0);
  const ms = performance.now() - began;
  await load.stop();
  assert.ok(longest < 2_000, `nobody was served for ${Math.round(longest)} ms`);
  // Three times loading, and three times `minUptimeMs`.
  assert.ok(ms >= 3 * 4_000 - 200, `${ms} ms`);
  assert.equal(new Set([...before, ...(await pidsOf(web))]).size, 6);
});

test("a restart with `health` continues after the first successful check; a sick release stops at the first instance", async (context) => {
  const health = { http: "http://127.0.0.1:{port}/health", interval: 0.3, failures: 2 };
  const web = await serving(context, "balance", { health, ready: { port: "{port}" } });
  const [, ...others] = await pidsOf(web);
  assert.equal((await cli(web.procman.folder, ["restart", "web-1"])).code, 0);
  web.write({ env: { RELEASE: '{"sick":true}' } });
  const { code, err } = await cli(web.procman.folder, ["reload"]);
  assert.equal(code, 1);
  assert.match(err, /Cannot reload: "web-1" did not come up with the new configuration: .*health/);
  await web.procman.line(/rolled back to the previous configuration/);
  assert.deepEqual((await pidsOf(web)).slice(1), others);
});

test("a start of a cluster and a scaling wait until the new instances have served for minUptimeMs", async (context) => {
  const web = await serving(context, "balance", { minUptimeMs: 3_000 });
  release(web, BAD);
  const scaled = await cli(web.procman.folder, ["scale", "web", "4"]);
  assert.equal(scaled.code, 1, scaled.out);
  assert.match(scaled.err, /"web-4": it .*exited/);
  assert.equal((await cli(web.procman.folder, ["stop", "web"])).code, 0);
  const started = await cli(web.procman.folder, ["start", "web"]);
  assert.equal(started.code, 1, started.out);
  release(web, {});
  assert.equal((await cli(web.procman.folder, ["stop", "web"])).code, 0);
  const began = performance.now();
  assert.equal((await cli(web.procman.folder, ["start", "web"])).code, 0);
  assert.ok(performance.now() - began >= 3_000);
  assert.ok((await instancesOf(web)).every(isAccepting));
});

for (const [what, fields, left] of [
  ["the instance that a rolling restart waits for", {}, 2],
  ["the instance that a rolling restart for a changed file waits for", { watch: ["release.json"] }, 2],
  ["the cluster during a rolling restart", {}, 0],
  ["the cluster during a rolling restart for a changed file", { watch: ["release.json"] }, 0],
] as const)
  test(`a reload that removes ${what} is carried out, and the service goes on`, async (context) => {
    const web = await serving(context, "balance", { ready: { exec: "sleep 1" }, minUptimeMs: 0, ...fields });
    const service = web.procman.helper("service");
    if ("watch" in fields) release(web, { late: 1 });
    const restarting = "watch" in fields ? undefined : cli(web.procman.folder, ["restart", "web"]);
    const before = (await instancesOf(web)).at(-1)?.run ?? 0;
    await waitForRecord(
      web.client,
      "web-3",
      ({ run = 0, status, ready }) => run > before && status === "running" && ready === false,
    );
    if (left > 0) web.write({ ...fields, cluster: { instances: left } });
    else writeFileSync(join(web.procman.folder, "procman.json"), JSON.stringify({ processes: [] }));
    assert.equal((await cli(web.procman.folder, ["reload"])).code, 0);
    const { code, err } = (await restarting) ?? { code: 0, err: "" };
    assert.ok(code === 0 || (code === 1 && /was removed from the configuration meanwhile/.test(err)), `${code} ${err}`);
    for (const end = Date.now() + 20_000; ; ) {
      const ids = (await web.client.processes()).flatMap(({ instances = [] }) => instances.map(({ id }) => id));
      if (ids.join() === IDS.slice(0, left).join()) break;
      assert.ok(Date.now() < end, ids.join());
    }
    assert.equal(web.procman.helper("service"), service);
    assert.ok(!web.procman.lines.some((line) => /bug|no specification/.test(line)));
  });

test("a service that is killed while an instance proves itself: the next one waits for its whole minUptimeMs", async (context) => {
  const web = await serving(context, "balance", { minUptimeMs: 3_000 });
  const [, ...others] = await pidsOf(web);
  release(web, { throws: 2_500 });
  await web.client.act("web", "restart");
  const [before] = await pidsOf(web);
  await waitForRecord(web.client, "web-1", (record) => isAccepting(record) && record.pid !== before);
  process.kill(web.procman.helper("service"), "SIGKILL");
  await web.procman.line(/resuming the rolling restart at "web-1"/);
  await web.procman.line(/Cannot restart "web" any further: "web-1" did not come up/);
  const next = await clientOf(join(web.procman.folder, ".procman/procman"));
  assert.deepEqual(
    ((await next.process("web")).instances ?? []).slice(1).map(({ pid }) => pid),
    others,
  );
});

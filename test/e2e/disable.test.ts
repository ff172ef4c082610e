/** Processes that start only by hand: docs/reference/cli.md, "For good". */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { lastEndpoint } from "../../src/core/os/published-endpoint.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { processExit } from "../support/procman-process.ts";

const PROCESSES = [
  { id: "web", ...SLEEPER },
  { id: "mail", ...SLEEPER },
  { id: "tick", cmd: "true", cron: "* * * * * *" },
];

/** Asks by commands until it is so. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; !(await isSo()); )
    assert.ok(performance.now() < end, `timed out waiting for ${isSo}`);
}

async function statesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const { out, err } = await procman(folder, ["status", "--json"]);
  assert.equal(err, "");
  const records = JSON.parse(out) as readonly ProcessRecord[];
  return Object.fromEntries(records.map(({ id, status, disabled }) => [id, disabled ? `${status}, disabled` : status]));
}

test("a disabled process starts neither with procman, by schedule nor by reload, after terminate and any kill; by hand it does", async (context) => {
  const { folder, state } = homeOf(context, PROCESSES);
  const ok = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await procman(folder, args);
    assert.equal(code, 0, `${args}: ${err}`);
    return out;
  };
  await ok("run", "--detach");
  assert.equal(await ok("stop", "web", "--keep"), "web: stopped, disabled (SIGTERM)\n");
  // `logs --runs 1` below shows what came after its last run: it has to have run once.
  await until(async () => (await statesIn(folder)).tick === "finished");
  await ok("disable", "tick");
  assert.equal((await procman(folder, ["next"])).err, "procman: nothing is scheduled\n");
  assert.doesNotMatch(await ok("why", "tick"), /next start/);
  assert.match(await ok("logs", "tick"), /tick +\| disabled: from now on it starts only by request/);
  await ok("terminate");
  await ok("run", "--detach");
  const after = { web: "created, disabled", mail: "running", tick: "created, disabled" };
  assert.deepEqual(await statesIn(folder), after);
  // Past the next second of its schedule.
  const skipped = async (): Promise<string> => ok("logs", "tick", "--runs", "1", "--search", "it is disabled");
  await until(async () => (await skipped()) !== "");
  assert.match(
    await ok("why", "web"),
    /^It is disabled: it starts only by hand\. "procman enable web" lets it start by itself again\.$/m,
  );
  assert.match(await ok("status"), /^web +created, disabled /m);
  // Changed in the file; then service and keeper are killed.
  const config = {
    name: "test",
    processes: PROCESSES.map((each) => (each.id === "web" ? { ...each, cmd: "sleep 2000" } : each)),
  };
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config));
  await ok("reload");
  for (const pid of [lastEndpoint(state)?.pid ?? 0, keeperIn(state)]) {
    process.kill(pid, "SIGKILL");
    await processExit(pid);
    assert.deepEqual(await statesIn(folder), after);
  }
  assert.match(await ok("start", "web"), /^web: running, disabled \(pid \d+\)$/m);
  await ok("restart", "web");
  await ok("terminate");
  await ok("run", "--detach");
  assert.deepEqual(await statesIn(folder), after);
  assert.match(
    await ok("enable", "web", "mail", "--now"),
    /^web: running \(pid \d+\)\nmail: already running \(pid \d+\)$/m,
  );
  await ok("enable", "tick");
  await until(async () => (await statesIn(folder)).tick === "finished");
  await ok("terminate");
});

test("a process that is enabled again is not started by kills of procman", async (context) => {
  const { folder, state } = homeOf(context, PROCESSES.slice(0, 2));
  for (const args of [["run", "--detach"], ["disable", "web"], ["terminate"], ["run", "--detach"], ["enable", "web"]])
    assert.equal((await procman(folder, args)).code, 0, args.join(" "));
  const after = { web: "created", mail: "running" };
  assert.deepEqual(await statesIn(folder), after);
  for (const pid of [lastEndpoint(state)?.pid ?? 0, keeperIn(state)]) {
    process.kill(pid, "SIGKILL");
    await processExit(pid);
    assert.deepEqual(await statesIn(folder), after);
  }
  assert.equal((await procman(folder, ["terminate"])).code, 0);
});

test("disable takes clusters and groups; what leaves the configuration is forgotten; an unknown id is refused, the others are disabled", async (context) => {
  const api = { id: "api", ...SLEEPER };
  const db = { id: "db", ...SLEEPER, groups: ["data"] };
  const { folder } = homeOf(context, [{ ...api, cluster: { instances: 2 } }, db]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const refused = await procman(folder, ["disable", "api", "wbe", "group:data", "--now"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /Cannot find process "wbe"/);
  assert.deepEqual(await statesIn(folder), { api: "stopped, disabled", db: "stopped, disabled" });
  const afterReload = async (...processes: readonly object[]): Promise<unknown> => {
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
    assert.equal((await procman(folder, ["reload"])).code, 0);
    return statesIn(folder);
  };
  assert.deepEqual(
    await afterReload(api),
    { api: "stopped" },
    "its instances are forgotten; what it is now was stopped",
  );
  assert.deepEqual(await afterReload(api, db), { api: "stopped", db: "running" });
  assert.equal((await procman(folder, ["terminate"])).code, 0);
});

test("a disabled cluster is disabled for instances that scale, reload and the next procman add, until it is enabled; one instance may be enabled alone", async (context) => {
  const api = (instances: number): object => ({
    id: "api",
    cmd: "sleep 1000",
    autostart: true,
    cluster: { instances },
  });
  const { folder, state } = homeOf(context, [api(2) as never]);
  const ok = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await procman(folder, args);
    assert.equal(code, 0, `${args}: ${err}`);
    return out;
  };
  const instances = async (): Promise<readonly string[]> => {
    const [record] = JSON.parse(await ok("status", "--json")) as readonly ProcessRecord[];
    return (record?.instances ?? []).map(({ status, disabled }) => (disabled ? `${status}, disabled` : status));
  };
  await ok("run", "--detach");
  await ok("disable", "api", "--now");
  await ok("scale", "api", "3");
  assert.deepEqual(await instances(), ["stopped, disabled", "stopped, disabled", "stopped, disabled"]);
  assert.match(await ok("status"), /^api +stopped, disabled /m);
  assert.match(await ok("why", "api-3"), /^It is disabled: it starts only by hand\./m);
  await ok("enable", "api-2");
  for (const pid of [lastEndpoint(state)?.pid ?? 0, keeperIn(state)]) {
    process.kill(pid, "SIGKILL");
    await processExit(pid);
    await ok("scale", "api", "2");
    await ok("scale", "api", "4");
    assert.deepEqual(await instances(), ["stopped, disabled", "stopped", "stopped, disabled", "stopped, disabled"]);
  }
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [api(5)] }));
  await ok("reload");
  assert.equal((await instances())[4], "stopped, disabled");
  await ok("terminate");
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [api(6)] }));
  await ok("run", "--detach");
  assert.deepEqual(await instances(), ["created, disabled", "running", ...Array(4).fill("created, disabled")]);
  await ok("enable", "api");
  await ok("scale", "api", "7");
  assert.equal((await instances())[6], "running", "others run, and the cluster is enabled");
  await ok("terminate");
});

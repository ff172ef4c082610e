/** `procman run ID…`, `--once`, `--exit-with`, `"restart": "never"`, and what procman says when nothing is left to do: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, folderWith, Procman, processExit, startProcman } from "../support/procman-process.ts";

const STACK = [
  { id: "db", cmd: "sleep 1000", ready: { exec: "true" } },
  { id: "migrate", cmd: "true", dependsOn: ["db"] },
  { id: "web", ...SLEEPER, dependsOn: [{ id: "migrate", condition: "finished" }] },
  { id: "mail", ...SLEEPER },
  { id: "watched", cmd: "sleep 1000", watch: ["src"] },
] as const;

async function statusesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const { out } = await procman(folder, ["status", "--json"]);
  return Object.fromEntries((JSON.parse(out) as readonly ProcessRecord[]).map(({ id, status }) => [id, status]));
}

test("run ID starts these and what they depend on, also after a reload; the others start by hand", async (context) => {
  const { folder } = homeOf(context, STACK);
  const started = await procman(folder, ["run", "--detach", "--wait", "web"]);
  assert.deepEqual([started.code, started.err], [0, ""], "what starts is named: no start policy is missed");
  const selected = { db: "running", migrate: "finished", web: "running", mail: "created", watched: "created" };
  assert.deepEqual(await statusesIn(folder), selected);
  assert.match((await procman(folder, ["plan"])).out, /^Nothing has changed/);
  const processes = [...STACK, { id: "new", ...SLEEPER }];
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
  assert.equal((await procman(folder, ["reload"])).code, 0);
  assert.deepEqual(await statusesIn(folder), { ...selected, new: "created" });
  assert.equal((await procman(folder, ["start", "mail"])).code, 0);
});

test("run of an unknown id: exit code 64 with a suggestion, in the foreground and in the background, and nothing starts", async (context) => {
  const { folder } = homeOf(context, STACK);
  for (const args of [["wbe"], ["-d", "wbe"]]) {
    const { code, err } = await procman(folder, ["run", ...args]);
    assert.equal(code, 64);
    assert.match(err, /Cannot run "wbe": the configuration has no process with this id\. Did you mean "web"\?\n$/);
  }
});

test("run --once runs everything once, ends when all have ended, and its exit code is that of the first failure", async (context) => {
  const jobs = [
    { id: "db", cmd: "trap 'exit 0' TERM; touch up; while :; do sleep 0.05; done", ready: { exec: "test -e up" } },
    { id: "lint", cmd: "echo lint >> ran", autostart: true, restart: "always" },
    { id: "test", cmd: "echo test >> ran; exit $(cat code)", autostart: true, dependsOn: ["db"] },
    { id: "report", cmd: "echo report >> ran", autostart: true, dependsOn: [{ id: "test", condition: "finished" }] },
    { id: "nightly", cmd: "echo nightly >> ran", cron: "* * * * * *" },
  ];
  const { folder } = homeOf(context, jobs);
  const ranIn = (): string => readFileSync(join(folder, "ran"), "utf8").trim().split("\n").toSorted().join();
  writeFileSync(join(folder, "code"), "0");
  const good = await procman(folder, ["run", "--once"]);
  assert.deepEqual([good.code, ranIn()], [0, "lint,report,test"], good.out);
  assert.match(good.err, /stopping everything \(everything has run once\)\n[\s\S]*db .*stopped \(code 0\)\n/);
  writeFileSync(join(folder, "code"), "7");
  writeFileSync(join(folder, "ran"), "");
  const bad = await procman(folder, ["run", "--once"]);
  assert.deepEqual([bad.code, ranIn().replace(/^,/, "")], [7, "lint,test"], bad.err);
  assert.match(bad.err, /test +\| exited with code 7.*; not restarted, because of --once\n/);
  assert.match(
    bad.err,
    /report +\| skipped: it depends on test, which has failed permanently: exited with code 7; not restarted, because of --once\n/,
  );
  writeFileSync(join(folder, "ran"), "");
  const named = await procman(folder, ["run", "--once", "lint", "nightly"]);
  assert.deepEqual([named.code, ranIn().replace(/^,/, "")], [0, "lint,nightly"], named.out);
  const detached = await procman(folder, ["run", "--once", "--detach", "test"]);
  assert.notEqual(detached.code, 0, detached.out);
});

test("successExitCodes: a job that ends so has finished, with its real code; what depends on it runs, also after a kill of the service", async (context) => {
  const jobs = [
    {
      id: "sync",
      cmd: "while [ ! -e go ]; do sleep 0.02; done; exit 24",
      autostart: true,
      restart: "error",
      successExitCodes: [24],
    },
    { id: "report", cmd: "touch reported", autostart: true, dependsOn: [{ id: "sync", condition: "finished" }] },
  ];
  const once = new Procman(folderWith(context, { processes: jobs }), { args: ["--once"] });
  await once.line(/sync .*started/);
  const service = once.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  writeFileSync(join(once.folder, "go"), "");
  assert.equal((await once.exit()).code, 0);
  await once.line(/sync +\| finished with code 24 after/);
  assert.ok(existsSync(join(once.folder, "reported")));
  const one = folderWith(context, { processes: jobs });
  writeFileSync(join(one, "go"), "");
  assert.equal((await procman(one, ["run", "--exit-with", "sync"])).code, 24);
  const { folder } = homeOf(context, jobs);
  writeFileSync(join(folder, "go"), "");
  assert.equal((await procman(folder, ["run", "--detach", "--wait"])).code, 0);
  const [sync] = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  assert.deepEqual(
    [sync?.status, sync?.code, sync?.reason, sync?.restarts],
    ["finished", 24, "finished by itself with code 24", 0],
  );
  assert.match((await procman(folder, ["why", "sync"])).out, /exited with code 24 .*It was not restarted\.\n/);
});

test("run --once continues when the service is killed", async (context) => {
  const jobs = [{ id: "job", cmd: "while [ ! -e go ]; do sleep 0.02; done; exit 5", autostart: true }];
  const run = new Procman(folderWith(context, { processes: jobs }), { args: ["--once"] });
  await run.line(/job .*started/);
  const service = run.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  writeFileSync(join(run.folder, "go"), "");
  assert.equal((await run.exit()).code, 5);
  assert.equal(run.lines.filter((line) => /job +\| started/.test(line)).length, 1);
});

test('"restart": "never" and --exit-with: a process that would be restarted ends with its first end', async (context) => {
  const once = await procman(
    folderWith(context, { processes: [{ id: "job", cmd: "exit 7", autostart: true, restart: "never" }] }),
    ["run", "--once"],
  );
  assert.equal(once.code, 7);
  for (const restart of [{}, { restart: "error" }, { restart: "always" }]) {
    const processes = [
      { id: "job", cmd: "exit 7", autostart: true, ...restart },
      { id: "web", ...SLEEPER },
    ];
    const { code, err } = await procman(folderWith(context, { processes }), ["run", "--exit-with", "job"]);
    assert.equal(code, 7, err);
    assert.equal(err.match(/job +\| started/g)?.length, 1, err);
  }
  const never = await startProcman(context, [
    { id: "job", cmd: "exit 7", autostart: true, restart: "never" },
    { id: "web", ...SLEEPER },
  ]);
  await never.line(/job .*exited with code 7.*not restarted/);
});

test("run says when nothing is left to do, and what it waits for", async (context) => {
  const nothing = await startProcman(context, [{ id: "job", cmd: "true", autostart: true }]);
  await nothing.line(/procman .*nothing is running, and nothing starts by itself: "procman start ID" starts a process/);
  const waiting = await startProcman(context, [
    { id: "job", cmd: "true", cron: "* * * * * *" },
    { id: "build", cmd: "true", watch: ["src"] },
    { id: "db", cmd: "true" },
    { id: "web", cmd: "true", autostart: true, dependsOn: ["db"] },
  ]);
  await waiting.line(
    /nothing is running; the next start is job, at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d); a changed file starts build; web waits for db \(ready\)/,
  );
  await eventually(() => (waiting.lines.filter((line) => /job .*finished/.test(line)).length > 2 ? true : undefined));
  assert.equal(
    waiting.lines.filter((line) => line.includes("nothing is running")).length,
    1,
    "once, though the job runs every second",
  );
});

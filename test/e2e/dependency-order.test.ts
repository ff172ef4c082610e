/** A database, a migration and a web server that depend on each other. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";

type Home = ReturnType<typeof homeOf>;

const WAIT = "while [ ! -e go ]; do sleep 0.02; done; rm go";
const PROCESSES = [
  { id: "web", ...SLEEPER, dependsOn: ["db", { id: "migrate", condition: "finished" }] },
  { id: "migrate", cmd: WAIT, autostart: true, dependsOn: ["db"] },
  { id: "db", ...SLEEPER },
];

const logOf = ({ state }: Home): string => {
  const file = join(state, "logs/console.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};
const waitForLine = (home: Home, line: RegExp): Promise<true> =>
  eventually(() => (line.test(logOf(home)) ? true : undefined));

async function record({ folder }: Home, id: string): Promise<ProcessRecord> {
  const all = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  return all.find((each) => each.id === id) as ProcessRecord;
}

test("processes start in order, say what they wait for, and stop in reverse order; a killed service changes nothing of that", async (context) => {
  const home = homeOf(context, PROCESSES);
  await procman(home.folder, ["run", "--detach"]);
  await waitForLine(home, /migrate +\| started/);
  const web = await record(home, "web");
  assert.deepEqual(
    [web.status, web.reason, web.waitsFor],
    ["waiting", "waits for migrate (finished)", "migrate (finished)"],
  );
  assert.match((await procman(home.folder, ["why", "web"])).out, /waits for migrate \(finished\)/);
  const { pid: service } = JSON.parse(readFileSync(join(home.state, "endpoint.json"), "utf8")) as {
    readonly pid: number;
  };
  assert.ok(service > 1);
  process.kill(service, "SIGKILL");
  await processExit(service);
  assert.equal((await record(home, "web")).status, "waiting");
  writeFileSync(join(home.folder, "go"), "");
  await waitForLine(home, /web +\| started/);
  const pids = [(await record(home, "web")).pid ?? 0, (await record(home, "db")).pid ?? 0];
  assert.ok(pids.every((pid) => pid > 1 && isAlive(pid)));
  assert.equal((await procman(home.folder, ["terminate"])).code, 0);
  const log = logOf(home);
  assert.ok(log.search(/web +\| stopped/) < log.search(/db +\| stopped/), log);
  assert.match(log, /db +\| is stopped when web has stopped/);
});

test("a cycle of dependencies is refused before any process starts, with its place", async (context) => {
  const home = homeOf(context, [
    { id: "a", cmd: "true", dependsOn: ["b"] },
    { id: "b", cmd: "true", dependsOn: ["a"] },
  ]);
  const { code, err } = await procman(home.folder, ["run", "--detach"]);
  assert.equal(code, 78);
  assert.match(err, /procman\.json:1:\d+ processes\[1\]\.dependsOn\[0\]\n[\s\S]*a → b → a/);
});

test("a process whose dependency has failed permanently is skipped: --exit-with and start end with an error", async (context) => {
  const processes = [
    { id: "prepare", cmd: "exit 3", autostart: true, restartLimit: 0 },
    { id: "work", cmd: "echo done", autostart: true, dependsOn: [{ id: "prepare", condition: "finished" }] },
    { id: "report", cmd: "echo done", autostart: true, dependsOn: [{ id: "work", condition: "finished" }] },
  ];
  const over = await procman(homeOf(context, processes).folder, ["run", "--exit-with", "report"]);
  assert.equal(over.code, 1);
  const home = homeOf(context, processes);
  assert.equal((await procman(home.folder, ["run", "--detach"])).code, 1);
  const failed = "prepare, which has failed permanently: exited with code 3; no restart is allowed";
  const chain = `it depends on work, which depends on ${failed}`;
  const { status, reason, skippedBy } = await record(home, "report");
  assert.deepEqual([status, reason, skippedBy], ["skipped", `is skipped: ${chain}`, ["work", "prepare"]]);
  await waitForLine(home, new RegExp(`report +\\| skipped: ${chain}$`, "m"));
  const { out } = await procman(home.folder, ["why", "report"]);
  assert.match(
    out,
    new RegExp(`^report is skipped: ${chain}\\.\n[\\s\\S]*"procman start prepare" starts it, and report follows\\.\n$`),
  );
  assert.equal((await procman(home.folder, ["stop", "work"])).code, 0);
  const started = await procman(home.folder, ["start", "work"]);
  assert.equal(started.code, 1);
  assert.match(started.err, new RegExp(`Cannot start "work": it is skipped: it depends on ${failed}`));
  const again = await procman(home.folder, ["start", "report"]);
  assert.deepEqual([again.code, again.err], [1, `procman: Cannot start "report": it is skipped: ${chain}\n`]);
});

test("the condition completed: a process starts when its dependency has ended, with whatever code; the one that needs code 0 is skipped", async (context) => {
  const processes = [
    { id: "prepare", cmd: "exit 3", autostart: true, restart: "never" },
    { id: "after", cmd: "exec sleep 1000", autostart: true, dependsOn: [{ id: "prepare", condition: "completed" }] },
    { id: "strict", cmd: "echo done", autostart: true, dependsOn: [{ id: "prepare", condition: "finished" }] },
  ];
  const home = homeOf(context, processes);
  await procman(home.folder, ["run", "--detach"]);
  await waitForLine(home, /after +\| started/);
  const [after, strict] = [await record(home, "after"), await record(home, "strict")];
  assert.deepEqual(after.dependsOn, [{ process: "prepare", condition: "completed" }]);
  assert.deepEqual([after.status, strict.status], ["running", "skipped"]);
});

test("start --with-dependencies starts first what does not run, also indirectly; a blocked dependency refuses it, a failed one is named", async (context) => {
  const home = homeOf(context, [
    {
      id: "db",
      cmd: "trap 'exit 0' TERM; [ ! -e broken ] || exit 3; touch up; while :; do sleep 0.05; done",
      ready: { exec: "test -e up" },
    },
    { id: "migrate", cmd: "echo ran >> migrated", dependsOn: ["db"] },
    { id: "cache", ...SLEEPER },
    { id: "web", cmd: "sleep 1000", dependsOn: ["cache", { id: "migrate", condition: "finished" }] },
  ]);
  const ask = (...args: readonly string[]): ReturnType<typeof procman> => procman(home.folder, args);
  assert.equal((await ask("run", "--detach")).code, 0);
  const cache = (await record(home, "cache")).pid;
  assert.equal((await ask("start", "web", "--no-wait")).code, 0);
  assert.equal((await record(home, "web")).status, "waiting");
  await ask("block", "db");
  const blocked = await ask("start", "web", "--with-dependencies");
  assert.deepEqual(
    [blocked.code, blocked.err],
    [1, 'procman: Cannot start "web" with its dependencies: "db" is blocked; unblock it first\n'],
  );
  await ask("unblock", "db");
  const started = await ask("start", "web", "--with-dependencies");
  assert.equal(started.code, 0, started.err);
  assert.match(started.out, /^web: running/);
  assert.equal((await record(home, "cache")).pid, cache);
  // What is done already isn't done again.
  await ask("stop", "web", "db");
  assert.equal((await ask("start", "web", "--with-dependencies")).code, 0);
  assert.deepEqual(
    [(await record(home, "db")).status, readFileSync(join(home.folder, "migrated"), "utf8")],
    ["stopped", "ran\n"],
  );
  // A dependency that fails is named, with the process that waits for it.
  await ask("stop", "web");
  writeFileSync(join(home.folder, "broken"), "");
  const failed = await ask("start", "migrate", "--with-dependencies");
  assert.equal(failed.code, 1);
  assert.match(failed.err, /Cannot start "db": it exited with code 3/);
  assert.match(
    failed.err,
    /"migrate": it is skipped: it depends on db, which has failed permanently: exited with code 3/,
  );
  assert.equal((await ask("terminate")).code, 0);
});

/** `procman start`, `stop`, `restart`, `block`, `unblock`, `next`, `why` on real processes. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, isAlive } from "../support/procman-process.ts";

async function recordsOf(folder: string): Promise<readonly ProcessRecord[]> {
  return JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
}

async function pidOf(folder: string, id: string): Promise<number> {
  const all = (await recordsOf(folder)).flatMap((record) => [record, ...(record.instances ?? [])]);
  return all.find((record) => record.id === id)?.pid ?? 0;
}

async function until(isMet: () => Promise<boolean>): Promise<void> {
  await eventually(async () => (await isMet()) || undefined);
}

test("each action waits for its result and reports it in one line", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "mail", ...SLEEPER },
  ]);
  await procman(folder, ["run", "--detach"]);
  const [web, mail] = [await pidOf(folder, "web"), await pidOf(folder, "mail")];
  assert.ok(web > 1 && mail > 1);
  const stopped = await procman(folder, ["stop", "web", "mail", "web"]);
  assert.deepEqual([stopped.code, stopped.err], [0, ""]);
  assert.match(stopped.out, /^web: stopped \(SIGTERM\)\nmail: stopped \(SIGTERM\)\n$/);
  for (const pid of [web, mail]) assert.ok(!isAlive(pid));
  const started = await procman(folder, ["start", "web"]);
  const second = await pidOf(folder, "web");
  assert.equal(started.out, `web: running (pid ${second})\n`);
  assert.ok(isAlive(second) && second !== web);
  const restarted = await procman(folder, ["restart", "web", "mail"]);
  const third = await pidOf(folder, "web");
  assert.equal(restarted.out, `web: running (pid ${third})\nmail: running (pid ${await pidOf(folder, "mail")})\n`);
  assert.ok(!isAlive(second) && third !== second);
  assert.equal((await procman(folder, ["stop", "all"])).out.match(/: stopped/g)?.length, 2);
});

test("the line of an action names the user behind sudo", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  assert.equal((await procman(folder, ["stop", "web"], { SUDO_USER: "alice" })).code, 0);
  assert.equal((await procman(folder, ["start", "web"], { SUDO_USER: "no name\n" })).code, 0);
  const { out } = await procman(folder, ["logs", "--category", "api"]);
  assert.match(out, /stop for "cli" \(alice\)\n.*start for "cli"\n/);
});

test("a blocked process is not started until it is unblocked", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const pid = await pidOf(folder, "web");
  assert.equal((await procman(folder, ["block", "web"])).out, `web: running, blocked (pid ${pid})\n`);
  assert.equal((await procman(folder, ["stop", "web"])).code, 0);
  const refused = await procman(folder, ["start", "web"]);
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.err, /^procman: Cannot start "web": .*blocked/);
  assert.equal((await procman(folder, ["unblock", "web"])).code, 0);
  assert.equal((await procman(folder, ["start", "web"])).code, 0);
});

test("an action that is refused for one process is reported, and carried out for the others; exit code 1", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "mail", ...SLEEPER, autostart: false },
  ]);
  await procman(folder, ["run", "--detach"]);
  assert.equal((await procman(folder, ["block", "web"])).code, 0);
  assert.equal((await procman(folder, ["stop", "web"])).code, 0);
  const { code, out, err } = await procman(folder, ["start", "web", "mail", "mial"]);
  assert.equal(code, 1);
  assert.match(out, /^mail: running \(pid \d+\)\n$/);
  assert.match(err, /Cannot start "web": .*blocked/);
  assert.match(err, /"mial": no process has this id\. Did you mean "mail"\?\n/);
});

test("start of what is running leaves it alone, says so, and ends with 0; one that waits for others is refused", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "db", cmd: "sleep 1000" },
    { id: "api", ...SLEEPER, dependsOn: ["db"] },
  ]);
  await procman(folder, ["run", "--detach"]);
  const pid = /pid (\d+)/.exec((await procman(folder, ["start", "db"])).out)?.[1];
  const again = await procman(folder, ["start", "db", "web"]);
  assert.deepEqual([again.code, again.err], [0, ""]);
  assert.match(again.out, new RegExp(`^db: already running \\(pid ${pid}\\)\nweb: already running \\(pid \\d+\\)\n$`));
  assert.equal(JSON.parse((await procman(folder, ["start", "db", "--json"])).out)[0].id, "db");
  assert.equal((await procman(folder, ["stop", "api", "db"])).code, 0);
  assert.equal((await procman(folder, ["start", "api", "--no-wait"])).code, 0);
  const waiting = await procman(folder, ["start", "api"]);
  assert.equal(waiting.code, 1);
  assert.match(waiting.err, /Cannot start "api": it waits for/);
});

test("a start that fails has exit code 1 and the reason", async (context) => {
  const { folder } = homeOf(context, [
    { id: "job", cmd: "exit 3", cron: "0 3 * * *", restart: "error", restartLimit: 0 },
  ]);
  await procman(folder, ["run", "--detach"]);
  const { code, out, err } = await procman(folder, ["start", "job"]);
  // It may be running for a moment.
  if (code === 0) assert.match(out, /^job: running/);
  else assert.match(err, /"job".* code 3/);
  assert.equal((await procman(folder, ["start", "job", "--timeout", "-1"])).code, 64);
});

test("restart: what fails is told with its last lines and code 1, for one process, a cluster and all; the others are restarted", async (context) => {
  // On a busy machine a shell takes longer than 50 ms to end.
  const flaky = {
    ...SLEEPER,
    minUptimeMs: 1_000,
    cmd: 'test ! -e bad || { echo "bad $PROCMAN_PROCESS_ID"; exit 9; }; exec sleep 1000',
  };
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "bad", ...flaky },
    { id: "pair", ...flaky, cluster: { instances: 2 } },
    { id: "unready", ...SLEEPER, autostart: false, ready: { exec: "test ! -e bad", timeout: 1 }, restart: "error" },
  ]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  writeFileSync(join(folder, "bad"), "");
  const web = await pidOf(folder, "web");
  const some = await procman(folder, ["restart", "web", "bad"]);
  assert.equal(some.code, 1);
  assert.match(some.out, /^web: running \(pid \d+\)\n$/);
  assert.notEqual(await pidOf(folder, "web"), web);
  assert.match(some.err, /^procman: Cannot restart "bad": it exited with code 9.*\n {2}bad \| bad bad$/m);
  for (const args of [["pair"], ["pair", "--hard"], ["pair-2"]]) {
    const { code, err } = await procman(folder, ["restart", ...args]);
    assert.equal(code, 1, args.join());
    const [, named] = /"(pair-\d)"/.exec(err) ?? [];
    assert.match(err, new RegExp(`^  ${named} \\| bad ${named}$`, "m"), err);
  }
  const unready = await procman(folder, ["restart", "unready", "--timeout", "600"]);
  assert.equal(unready.code, 1);
  assert.match(unready.err, /Cannot restart "unready": it was stopped because it was not ready within 1 s/);
  const all = await procman(folder, ["restart", "all"]);
  assert.equal(all.code, 1);
  assert.match(all.err, /\| bad bad$/m);
  const named = [...all.err.matchAll(/^procman: Cannot restart .*?"(bad|unready|pair)(?:-\d)?"/gm)].map(([, id]) => id);
  assert.deepEqual([...new Set(named)].sort(), ["bad", "pair", "unready"], all.err);
});

test("restart: if a reload removes one process meanwhile, one line says so; another that fails is shown with its last lines", async (context) => {
  const bad = { id: "bad", cmd: "test ! -e bad || { echo too bad; exit 9; }; exec sleep 1000", autostart: true };
  const { folder } = homeOf(context, [{ id: "gone", ...SLEEPER, ready: { exec: "test ! -e bad", timeout: 600 } }, bad]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  writeFileSync(join(folder, "bad"), "");
  const before = await pidOf(folder, "gone");
  const restart = procman(folder, ["restart", "gone", "bad"]);
  await until(async () => ![before, 0].includes(await pidOf(folder, "gone")));
  const file = join(folder, "procman.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), processes: [bad] }));
  assert.equal((await procman(folder, ["reload", "--no-wait"])).code, 0);
  const { code, err } = await restart;
  assert.equal(code, 1);
  const said =
    /^procman: Cannot restart "gone": it was removed from the configuration meanwhile\nprocman: Cannot restart "bad": .*\n {2}bad \| too bad\n$/;
  assert.match(err, said);
});

test("status ends with 3 if something that was asked for isn't running; --check also if it is not ready or not healthy", async (context) => {
  const { folder } = homeOf(context, [
    {
      id: "web",
      ...SLEEPER,
      ready: { exec: "test -e ready" },
      health: { exec: "test ! -e ill", interval: 1 },
      restart: "error",
    },
    { id: "done", cmd: "true", autostart: true },
    { id: "manual", cmd: "sleep 1000" },
    { id: "job", cmd: "exit 7", cron: "0 3 1 1 *" },
    { id: "pair", ...SLEEPER, cluster: { instances: 2 } },
  ]);
  const codeOf = async (...args: readonly string[]): Promise<number> =>
    (await procman(folder, ["status", ...args])).code;
  assert.equal(await codeOf(), 69);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await until(async () => (await recordsOf(folder))[1]?.status === "finished");
  assert.deepEqual(
    [await codeOf(), await codeOf("web"), await codeOf("--check", "pair"), await codeOf("all", "--json")],
    [0, 0, 0, 0],
  );
  assert.deepEqual([await codeOf("--check"), await codeOf("--check", "web")], [3, 3], "it is not ready");
  writeFileSync(join(folder, "ready"), "");
  await until(async () => (await codeOf("--check", "web")) === 0);
  assert.equal(await codeOf("--check"), 0);
  assert.deepEqual([await codeOf("done"), await codeOf("web", "manual")], [3, 3], "a named one must run");
  await procman(folder, ["block", "web"]);
  writeFileSync(join(folder, "ill"), "");
  await until(async () => (await codeOf("--check", "web")) === 3);
  assert.equal(await codeOf("web"), 0, "it is unhealthy, and runs");
  await procman(folder, ["stop", "pair-2"]);
  assert.deepEqual([await codeOf(), await codeOf("pair"), await codeOf("pair-1")], [0, 3, 0]);
  await procman(folder, ["start", "job"]);
  const failed = await procman(folder, ["status"]);
  assert.equal(failed.code, 3);
  assert.match(failed.out, /^job +errored/m);
  assert.equal(await codeOf("nobody"), 1);
});

test("GET /health?process=ID needs no token: 200 while the process is up, else 503", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", ...SLEEPER, ready: { exec: "test -e ready" } }]);
  await procman(folder, ["run", "--detach"]);
  const { port } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  const ask = async (query: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/health${query}`);
    return [answer.status, await answer.text()];
  };
  assert.deepEqual(await ask(""), [200, "ok\n"]);
  const [status, body] = await ask("?process=web");
  assert.equal(status, 503);
  assert.equal(body, (await ask("?process=nobody"))[1]);
  assert.doesNotMatch(body, /web|ready\b.*exec/);
  writeFileSync(join(folder, "ready"), "");
  await until(async () => (await ask("?process=web"))[0] === 200);
  await procman(folder, ["stop", "web"]);
  assert.equal((await ask("?process=web"))[0], 503);
});

test("4 instances and clusters are selected by id; --json prints records", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER, cluster: { instances: 3 } }]);
  await procman(folder, ["run", "--detach"]);
  const one = JSON.parse((await procman(folder, ["stop", "web-2", "--json"])).out) as readonly ProcessRecord[];
  assert.deepEqual(
    one.map(({ id, status }) => [id, status]),
    [["web-2", "stopped"]],
  );
  const { out } = await procman(folder, ["status", "web"]);
  assert.match(out, /^web +mixed/m);
  assert.match(out, /^ {2}web-2 +stopped/m);
  const all = await procman(folder, ["restart", "web"]);
  assert.match(all.out, /^web-1: running \(pid \d+\)\nweb-2: running \(pid \d+\)\nweb-3: running \(pid \d+\)\n$/);
  const some = await procman(folder, ["status", "web-1", "--json"]);
  assert.equal((JSON.parse(some.out) as readonly ProcessRecord[]).length, 1);
});

test("--no-wait returns at once, --timeout ends the waiting; in both cases the stop continues", async (context) => {
  const stubborn = { cmd: "trap '' TERM; while true; do sleep 0.05; done", autostart: true, terminateTimeout: 2 };
  const { folder } = homeOf(context, [
    { id: "one", ...stubborn },
    { id: "two", ...stubborn },
  ]);
  await procman(folder, ["run", "--detach"]);
  assert.match((await procman(folder, ["stop", "one", "--no-wait"])).out, /^one: stopping \(pid \d+\)\n$/);
  const late = await procman(folder, ["stop", "two", "--timeout", "0.2"]);
  assert.deepEqual([late.code, late.out], [1, ""]);
  assert.match(late.err, /the stop of "two": timed out after 0\.2 s/);
  assert.match((await procman(folder, ["stop", "two"])).out, /^two: stopped/);
});

test("next shows the scheduled starts and ends", async (context) => {
  const { folder } = homeOf(context, [
    { id: "backup", cmd: "true", cron: "0 3 1 1 *" },
    { id: "web", ...SLEEPER, terminate: "0 3 2 1 *" },
  ]);
  await procman(folder, ["run", "--detach"]);
  const { out } = await procman(folder, ["next"]);
  assert.match(
    out,
    /^TIME +ACTION +ID\n\d{4}-01-01T03:00:00(?:Z|[+-]\d\d:\d\d) {2}in \d+ [hd] +start +backup\n\d{4}-01-02T03:00:00\S+ {2}in \d+ [hd] +terminate {2}web\n$/,
  );
  const planned = JSON.parse((await procman(folder, ["next", "web", "--json"])).out) as readonly {
    readonly process: string;
  }[];
  assert.deepEqual(
    planned.map(({ process }) => process),
    ["web"],
  );
  assert.equal((await procman(folder, ["next", "wbe"])).code, 1);
});

test("without a procman every command says so, with exit code 69", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  for (const command of ["start", "stop", "restart", "block", "unblock", "why"]) {
    const { code, err } = await procman(folder, [command, "web"]);
    assert.equal(code, 69, command);
    assert.match(err, /none is running for .*Start it with "procman run"\n$/);
  }
});

/** Each takes about a millisecond, of some 20. (Commander loads `child_process`, other commands of the same bundle the small `os`, the code cache `zlib` for its CRC-32.) */
const HEAVY = ["http", "https", "perf_hooks", "readline", "readline/promises", "worker_threads"];

test("status loads no unused module of Node", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const hook = join(folder, "hook.cjs");
  const loadedModules = "process.moduleLoadList.map((each) => each.replace('NativeModule ', ''))";
  writeFileSync(
    hook,
    `process.on("exit", () => require("node:fs").writeFileSync(__filename + ".json", JSON.stringify(${loadedModules})));`,
  );
  const { code, err } = await procman(folder, ["status"], { NODE_OPTIONS: `--require ${hook}` });
  assert.equal(code, 0, err);
  const loaded = JSON.parse(readFileSync(`${hook}.json`, "utf8")) as readonly string[];
  assert.ok(loaded.includes("net"), "used modules are found");
  assert.deepEqual(
    HEAVY.filter((name) => loaded.includes(name)),
    [],
  );
});

test("a start that fails is reported at once, with its last lines and code 1, also while the policy tries again", async (context) => {
  const fails = "echo first; echo 'no such database' >&2; exit 3";
  const { folder } = homeOf(context, [
    { id: "once", cmd: fails },
    { id: "again", cmd: `sleep 0.1; ${fails}`, restart: "error", restartDelayMs: 60_000 },
    { id: "storm", cmd: fails, restart: "always" },
    { id: "pair", cmd: '[ "$PROCMAN_CLUSTER_INSTANCE" = 0 ] && exec sleep 1000; exit 4', cluster: { instances: 2 } },
    { id: "late", cmd: "sleep 0.3; exit 5", minUptimeMs: 100 },
    { id: "job", cmd: "echo done" },
    { id: "web", cmd: "sleep 1000" },
  ]);
  await procman(folder, ["run", "--detach"]);
  for (const id of ["once", "again", "storm"])
    for (const verb of ["start", "restart"]) {
      const { code, out, err } = await procman(folder, [verb, id]);
      assert.deepEqual([code, out], [1, ""], `${verb} ${id}`);
      assert.match(err, new RegExp(`^procman: Cannot ${verb} "${id}": it exited with code 3`));
      assert.match(err, new RegExp(`^ +${id} \\| first\n +${id} \\| no such database\n`, "m"));
      if (verb === "start" && id === "storm") await procman(folder, ["stop", id]);
    }
  const started = Date.now();
  const mixed = await procman(folder, ["start", "pair", "late", "job", "web"]);
  assert.equal(mixed.code, 1);
  assert.match(mixed.err, /^procman: Cannot start "pair-2": it exited with code 4/);
  assert.match(mixed.out, /^late: running .*\njob: finished .*\nweb: running \(pid \d+\)\n$/);
  assert.ok(Date.now() - started < 15_000, "the four are awaited together, none for the whole timeout");
});

/** `procman plan` and `procman reload`, SIGHUP and `--watch-config`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PlanRecord } from "../../src/core/contract/plan.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { commandLineOf } from "../support/proc-files.ts";
import {
  eventually,
  isAlive,
  type ProcessConfig,
  processExit,
  TIMEOUT_MS,
  within,
} from "../support/procman-process.ts";

type Home = ReturnType<typeof homeOf>;

const sleeper = (id: string, more: object = {}): ProcessConfig => ({ id, ...SLEEPER, ...more });

/** Replaces the file in one step. */
function write({ folder }: Home, processes: readonly ProcessConfig[], more: object = {}): void {
  writeFileSync(join(folder, "draft"), JSON.stringify({ name: "test", processes, ...more }));
  renameSync(join(folder, "draft"), join(folder, "procman.json"));
}

async function records({ folder }: Home): Promise<readonly ProcessRecord[]> {
  const { code, out } = await procman(folder, ["status", "--json"]);
  // While another keeper or service takes over.
  if (code !== 0) return [];
  const all = JSON.parse(out) as readonly ProcessRecord[];
  return all.flatMap((record) => record.instances ?? [record]);
}

async function pids(home: Home): Promise<Readonly<Record<string, number>>> {
  return Object.fromEntries((await records(home)).map(({ id, pid = 0 }) => [id, pid]));
}

/** The command lines of running processes, by id. */
async function commands(home: Home): Promise<Readonly<Record<string, string>>> {
  const lines = Object.entries(await pids(home)).map(([id, pid]) => [
    id,
    pid > 1 ? commandLineOf(pid).replaceAll("\0", " ").trim() : "",
  ]);
  return Object.fromEntries(lines) as Record<string, string>;
}

/** Resolves once each of these runs this command. */
async function allRun(home: Home, ids: readonly string[], command: string): Promise<void> {
  let all: Readonly<Record<string, string>> = {};
  const everyOne = async (): Promise<boolean> => {
    all = await commands(home);
    return ids.every((id) => all[id] === command);
  };
  assert.ok(await within(TIMEOUT_MS, everyOne), `not all run "${command}": ${JSON.stringify(all)}\n${logOf(home)}`);
}

const endpointPid = ({ state }: Home): number | undefined => {
  const file = join(state, "endpoint.json");
  const pid = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { readonly pid: number }).pid : undefined;
  return pid !== undefined && isAlive(pid) ? pid : undefined;
};
const logOf = ({ state }: Home): string => readFileSync(join(state, "logs/console.log"), "utf8");

test("plan shows the effect of a changed file on each process; reload does that and nothing else", async (context) => {
  const home = homeOf(context, [
    sleeper("same"),
    sleeper("changed"),
    sleeper("eased"),
    sleeper("gone"),
    { id: "manual", cmd: "true" },
  ]);
  await procman(home.folder, ["run", "--detach"]);
  const before = await pids(home);
  assert.match((await procman(home.folder, ["plan"])).out, /^Nothing has changed \(5 processes\)\.\n$/);
  assert.equal((await procman(home.folder, ["plan", "--exit-code"])).code, 0);
  write(
    home,
    [
      sleeper("same"),
      sleeper("changed", { env: { A: "1" } }),
      sleeper("eased", { restartLimit: 3 }),
      sleeper("new"),
      { id: "manual", cmd: "true" },
    ],
    { api: { port: 45_678 } },
  );
  const plan = await procman(home.folder, ["plan"]);
  assert.deepEqual(plan.code, 0);
  const coded = await procman(home.folder, ["plan", "--exit-code"]);
  assert.deepEqual(coded, { ...plan, code: 2 });
  assert.equal(
    plan.out,
    `ID        ACTION    WHY
changed   restart   its env has changed
eased     in-place  its restartLimit has changed
new       start     is new
gone      stop      is no longer in the configuration
api.port  next-run  has changed; takes effect when procman is terminated and run again
2 processes are unchanged.
`,
  );
  assert.deepEqual(await pids(home), before, "a plan does nothing");
  const reloaded = await procman(home.folder, ["reload", "--json"]);
  assert.deepEqual([reloaded.code, reloaded.err], [0, reloaded.err]);
  const { processes } = JSON.parse(reloaded.out) as PlanRecord;
  assert.deepEqual(
    processes.map(({ process, action }) => [process, action]),
    [
      ["same", "none"],
      ["changed", "restart"],
      ["eased", "in-place"],
      ["new", "start"],
      ["manual", "none"],
      ["gone", "stop"],
    ],
  );
  const after = await pids(home);
  assert.deepEqual([after.same, after.eased], [before.same, before.eased]);
  assert.ok(after.changed !== before.changed && after.changed !== 0 && after.new !== 0);
  await processExit(before.gone ?? 0);
  assert.match(
    (await procman(home.folder, ["plan"])).out,
    /^ID .*\napi\.port/,
    "a setting that needs a restart is shown until then",
  );
});

test("7 an invalid file: plan and reload print all problems with their places, exit code 78, and nothing changes", async (context) => {
  const home = homeOf(context, [sleeper("web")]);
  await procman(home.folder, ["run", "--detach"]);
  const before = await pids(home);
  writeFileSync(
    join(home.folder, "procman.json"),
    '{ "name": "test", "processes": [\n  { "id": "web", "cmmd": "x" },\n  { "id": "web", "cmd": 5 } ] }',
  );
  for (const command of ["plan", "reload"]) {
    const { code, out, err } = await procman(home.folder, [command]);
    assert.deepEqual([code, out], [78, ""]);
    assert.match(err, /procman\.json:2:18.*\n.*\n.*\^\^\^\^\^\^\n.*Did you mean "cmd"\?/);
    assert.match(err, /procman\.json:3:25/);
  }
  process.kill(keeperIn(home.state), "SIGHUP");
  await eventually(() => (logOf(home).includes("everything stays as it was") ? true : undefined));
  assert.deepEqual(await pids(home), before);
});

test("an empty or cut off file names no procman: the only one beside it is found, and plan and reload print the file's problem", async (context) => {
  const home = homeOf(context, [sleeper("web")]);
  await procman(home.folder, ["run", "--detach"]);
  const before = await pids(home);
  for (const text of ["", '{ "processes": [']) {
    writeFileSync(join(home.folder, "procman.json"), text);
    for (const command of ["plan", "reload"]) {
      const { code, out, err } = await procman(home.folder, [command]);
      assert.deepEqual([code, out], [78, ""], err);
      assert.match(err, /procman\.json:1:\d+/);
    }
    assert.deepEqual(await pids(home), before);
  }
  assert.equal((await procman(home.folder, ["stop", "web"])).code, 0);
  assert.equal((await procman(home.folder, ["terminate"])).code, 0);
  assert.equal((await procman(home.folder, ["plan"])).code, 69, "none is running");
});

test("a process that doesn't come up with its new configuration is reported, with exit code 1", async (context) => {
  const home = homeOf(context, [sleeper("web"), sleeper("db")]);
  await procman(home.folder, ["run", "--detach"]);
  write(home, [sleeper("web", { cmd: "no-such-program" }), sleeper("db")]);
  const { code, err } = await procman(home.folder, ["reload"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /^procman: "web" is not up: it could not be started: there is no program "no-such-program" in its PATH/m,
  );
});

test("processes that end right after their restart by a reload are reported with their last lines; others are up after minUptimeMs", async (context) => {
  const fails = "echo first; echo 'no such database' >&2; exit 3";
  const home = homeOf(context, [sleeper("once"), sleeper("storm"), sleeper("web")]);
  await procman(home.folder, ["run", "--detach"]);
  write(home, [
    sleeper("once", { cmd: `sleep 0.1; ${fails}`, minUptimeMs: 60_000 }),
    sleeper("storm", { cmd: fails, restart: "always", minUptimeMs: 1_000 }),
    sleeper("web", { cmd: "sleep 2000", minUptimeMs: 2_500 }),
  ]);
  const began = performance.now();
  const { code, err } = await procman(home.folder, ["reload"]);
  const tookMs = performance.now() - began;
  assert.equal(code, 1);
  assert.match(
    err,
    /^procman: "once" is not up: it exited with code 3.*\n +once \| first\n +once \| no such database\n/m,
  );
  assert.match(err, /^procman: "storm" is not up: it .*\n +storm \| first\n +storm \| no such database\n/m);
  assert.doesNotMatch(err, /"web"/);
  assert.ok(tookMs >= 2_500, `the reload took ${tookMs} ms`);
});

test("SIGHUP and --watch-config reload the file", async (context) => {
  const home = homeOf(context, [sleeper("web"), sleeper("same")]);
  await procman(home.folder, ["run", "--detach", "--watch-config"]);
  const { same } = await pids(home);
  write(home, [sleeper("web", { cmd: "sleep 2000" }), sleeper("same")]);
  await allRun(home, ["web"], "sleep 2000");
  assert.match(logOf(home), /reload \(procman\.json has changed\): web restarts, 1 unchanged/);
  writeFileSync(join(home.folder, "procman.json"), "{ half");
  await eventually(() => (logOf(home).includes("everything stays as it was") ? true : undefined));
  write(home, [sleeper("web", { cmd: "sleep 3000" }), sleeper("same")]);
  process.kill(keeperIn(home.state), "SIGHUP");
  await allRun(home, ["web"], "sleep 3000");
  assert.equal((await pids(home)).same, same);
});

test("--watch-config: a configuration that becomes a FIFO is reported as such, and the service goes on", async (context) => {
  const home = homeOf(context, [sleeper("web")]);
  await procman(home.folder, ["run", "--detach", "--watch-config"]);
  const before = await pids(home);
  const [file, service] = [join(home.folder, "procman.json"), endpointPid(home)];
  rmSync(file);
  execFileSync("mkfifo", [file]);
  await eventually(
    () => /Cannot read \S*procman\.json: it is a FIFO, not a regular file/.test(logOf(home)) || undefined,
  );
  rmSync(file);
  write(home, [sleeper("web"), sleeper("more")]);
  await allRun(home, ["more"], "sleep 1000");
  assert.equal((await pids(home)).web, before.web);
  assert.equal(endpointPid(home), service);
});

test("a cluster is reloaded instance by instance; if one doesn't come up, everything is as before", async (context) => {
  // The failing one ends before it counts as up.
  const cluster = (cmd: string): ProcessConfig =>
    sleeper("web", { cmd, cluster: { instances: 2 }, minUptimeMs: 1_000 });
  const home = homeOf(context, [cluster("sleep 1000"), sleeper("db")]);
  await procman(home.folder, ["run", "--detach"]);
  const before = await pids(home);
  write(home, [cluster("sleep 0.2; exit 3"), sleeper("db")]);
  const failed = await procman(home.folder, ["reload"]);
  assert.equal(failed.code, 1);
  assert.match(
    failed.err,
    /^procman: Cannot reload: "web-1" did not come up .*; the previous configuration is restored\n$/,
  );
  const after = await commands(home);
  assert.deepEqual([after["web-1"], after["web-2"]], ["sleep 1000", "sleep 1000"]);
  assert.equal((await pids(home))["web-2"], before["web-2"]);
  write(home, [cluster("sleep 2000"), sleeper("db")]);
  assert.equal((await procman(home.folder, ["reload"])).code, 0);
  await allRun(home, ["web-1", "web-2"], "sleep 2000");
  assert.equal((await pids(home)).db, before.db);
});

for (const victim of ["service", "keeper"] as const)
  test(`a reload in which the ${victim} is killed is completed, with the new configuration everywhere`, async (context) => {
    const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
    const config = (seconds: number): readonly ProcessConfig[] => [
      ...ids.map((id) => sleeper(id, { cmd: `sleep ${seconds}` })),
      sleeper("web", { cmd: `sleep ${seconds}`, cluster: { instances: 2 } }),
    ];
    const home = homeOf(context, config(1_000));
    await procman(home.folder, ["run", "--detach"]);
    for (const [round, delayMs] of [0, 3, 15, 400].entries()) {
      const seconds = 2_000 + round;
      const [service, keeper] = [endpointPid(home), keeperIn(home.state)];
      const pid = victim === "service" ? service : keeper;
      assert.ok(pid !== undefined && pid > 1);
      write(home, config(seconds));
      const asked = procman(home.folder, ["reload", "--no-wait"]);
      await eventually(() => ((logOf(home).match(/ p0 +\| restarted/g)?.length ?? 0) > round ? true : undefined));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      process.kill(pid, "SIGKILL");
      await processExit(pid);
      await asked;
      await allRun(home, [...ids, "web-1", "web-2"], `sleep ${seconds}`);
      const reload = async (): Promise<string> => (await procman(home.folder, ["reload"])).out;
      await eventually(async () => (await reload()) === "Nothing has changed (12 processes).\n" || undefined);
    }
  });

test("plan shows the restarts by dependsOn, reload makes exactly these, and is done when they are", async (context) => {
  const processes = (db: object, web: object): readonly ProcessConfig[] => [
    sleeper("web", web),
    sleeper("pool", { cluster: { instances: 2 }, minUptimeMs: 100, dependsOn: [{ id: "db", restart: true }] }),
    sleeper("db", db),
    sleeper("same", { dependsOn: ["db"] }),
  ];
  const home = homeOf(context, processes({}, { dependsOn: [{ id: "pool", restart: true }] }));
  await procman(home.folder, ["run", "--detach"]);
  const reload = async (): Promise<readonly string[]> => {
    const plan = JSON.parse((await procman(home.folder, ["plan", "--json"])).out) as PlanRecord;
    const before = await pids(home);
    const done = await procman(home.folder, ["reload", "--json"]);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual((JSON.parse(done.out) as PlanRecord).processes, plan.processes);
    const after = await pids(home);
    const planned = plan.processes.filter(({ action }) => action === "restart").map(({ process }) => process);
    assert.deepEqual(
      planned,
      Object.keys(after).filter((id) => after[id] !== before[id]),
    );
    return plan.processes
      .filter(({ action }) => action !== "none")
      .map(({ process, reason }) => `${process}: ${reason}`);
  };
  write(home, processes({ nice: 1 }, { dependsOn: [{ id: "pool", restart: true }] }));
  assert.deepEqual(await reload(), [
    "web: restarts with pool, on which it depends",
    "pool-1: restarts with db, on which it depends",
    "pool-2: restarts with db, on which it depends",
    "db: its nice has changed",
  ]);
  write(home, processes({ nice: 1 }, {}));
  await reload();
  await procman(home.folder, ["restart", "db"]);
  // Its dependency is younger, but was not restarted since it was declared.
  write(home, processes({ nice: 1 }, { dependsOn: [{ id: "db", restart: true }] }));
  assert.deepEqual(await reload(), ["web: its dependsOn has changed"]);
});

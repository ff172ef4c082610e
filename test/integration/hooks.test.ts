/** Hooks: commands before each start and after each end of a process. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import {
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
} from "../support/procman-process.ts";

const loud = { autostart: true, logger: { console: true } };
const SLEEP = "sleep 1000";

/** The lines of a file; none: it isn't there yet. */
const linesIn = (folder: string, file: string): readonly string[] =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim().split("\n") : [];

/** Resolves with its lines once there are so many. */
const linesOf = (folder: string, file: string, count: number): Promise<readonly string[]> =>
  eventually(() => {
    const lines = linesIn(folder, file);
    return lines.length >= count && lines.join("") !== "" ? lines : undefined;
  });

async function recordOf(folder: string, id: string): Promise<ProcessRecord> {
  const { out } = await cli(folder, ["status", id, "--json"]);
  return (JSON.parse(out) as readonly ProcessRecord[])[0] as ProcessRecord;
}

test("beforeStart runs before each start, in the folder and environment of the process, and the process starts only after it", async (context) => {
  const order = 'echo "$WHAT $NAME $PROCMAN_PROCESS_ID ${PWD##*/}" >> order';
  const web = {
    id: "web",
    cmd: `WHAT=run; ${order}; exec ${SLEEP}`,
    hooks: { beforeStart: `sleep 0.1; WHAT=hook; ${order}; echo prepared; echo careful >&2` },
    env: { NAME: "shop" },
    restart: "always",
    ...loud,
  };
  const folder = folderWith(context, { processes: [web] });
  const procman = new Procman(folder);
  const order_ = (count: number) => linesOf(folder, "order", count);
  await order_(2);
  await procman.line(/web +\| beforeStart: prepared$/);
  await procman.line(/web +[|!] beforeStart: careful$/);
  const { pid = 0 } = await recordOf(folder, "web");
  process.kill(pid, "SIGKILL");
  await order_(4);
  assert.equal((await cli(folder, ["restart", "web"])).code, 0);
  await order_(6);
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes: [{ ...web, env: { NAME: "other" } }] }));
  assert.equal((await cli(folder, ["reload"])).code, 0);
  const base = folder.split("/").at(-1);
  const pair = (name: string): readonly string[] => [`hook ${name} web ${base}`, `run ${name} web ${base}`];
  assert.deepEqual(await order_(8), [...pair("shop"), ...pair("shop"), ...pair("shop"), ...pair("other")]);
  const { out } = await cli(folder, ["logs", "web", "--category", "stdout"]);
  assert.equal(out.split("\n").filter((line) => line.endsWith("| beforeStart: prepared")).length, 4);
  assert.equal(await procman.stop(), 0);
});

test("hooks run for each instance of a cluster, with its number and port", async (context) => {
  const startPort = await freeRange();
  const say = (name: string): string =>
    `echo "${name} $PROCMAN_PROCESS_ID $PROCMAN_CLUSTER_INSTANCE $PORT {port}" >> said`;
  const hooks = { beforeStart: say("before"), afterStop: say("after") };
  const folder = folderWith(context, {
    processes: [{ id: "web", cmd: SLEEP, hooks, cluster: { instances: 2, startPort }, ...loud }],
  });
  const procman = new Procman(folder);
  await procman.count(/started \(pid/, 2);
  assert.equal((await cli(folder, ["stop", "web"])).code, 0);
  const of = (name: string, instance: number): string => {
    const port = startPort + instance;
    return `${name} web-${instance + 1} ${instance} ${port} ${port}`;
  };
  const expected = [of("after", 0), of("after", 1), of("before", 0), of("before", 1)];
  assert.deepEqual([...(await linesOf(folder, "said", 4))].sort(), expected);
});

test("a start whose hook fails has failed: commands say so with the last lines, and the restart policy tries again", async (context) => {
  const hooks = { beforeStart: "echo no database; sleep 0.3; test -f ready || exit 3" };
  const processes: readonly ProcessConfig[] = [
    { id: "web", cmd: SLEEP, hooks, restart: "error", restartDelayMs: 50, ...loud },
    { id: "once", cmd: SLEEP, hooks, restart: "never", logger: { console: true } },
  ];
  const folder = folderWith(context, { processes });
  const procman = new Procman(folder);
  await procman.line(
    /web +\| could not be started: its hook beforeStart exited with code 3 after .*; restart 2 in 50 ms$/,
  );
  const { code, out, err } = await cli(folder, ["start", "once"]);
  assert.equal(code, 1);
  assert.match(out + err, /its hook beforeStart exited with code 3 after/);
  assert.match(out + err, /beforeStart: no database/);
  writeFileSync(join(folder, "ready"), "");
  await procman.line(/web +\| started/);
  const why = await cli(folder, ["why", "once"]);
  assert.match(why.out, /could not be started: its hook beforeStart exited with code 3/);
  assert.ok(!procman.lines.some((line) => /once +\| started/.test(line)));
});

test("a hook past its time limit is ended with all that it has started, and has failed", async (context) => {
  const stubborn =
    "trap '' TERM; (trap '' TERM; echo $$ >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & exec sleep 1000)";
  const hooks = { beforeStart: { cmd: stubborn, timeout: 0.4 } };
  const polite = { beforeStart: { cmd: "trap 'exit 0' TERM; sleep 1000 & wait", timeout: 0.4 } };
  const rules = { restart: "never", terminateTimeout: 0.3, ...loud };
  const processes = [
    { id: "web", cmd: SLEEP, hooks, ...rules },
    { id: "polite", cmd: SLEEP, hooks: polite, ...rules },
  ];
  const folder = folderWith(context, { processes });
  const procman = new Procman(folder);
  await procman.line(/web +\| its hook beforeStart did not end within 400 ms; ending it$/);
  await procman.line(
    /web +\| could not be started: its hook beforeStart did not end within its time limit and was ended after .*; not restarted/,
  );
  await procman.line(/polite +\| could not be started: its hook beforeStart did not end within its time limit/);
  const pids = linesIn(folder, "pids").map(Number);
  assert.equal(pids.length, 2);
  assert.deepEqual(pids.filter(isAlive), []);
});

test("a stop during beforeStart ends the hook at once, and nothing is left; status names the hook while it runs", async (context) => {
  const hooks = { beforeStart: "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & sleep 1000" };
  const folder = folderWith(context, { processes: [{ id: "web", cmd: SLEEP, hooks, ...loud }] });
  const procman = new Procman(folder);
  const pids = (await linesOf(folder, "pids", 2)).map(Number);
  const { status, reason } = await recordOf(folder, "web");
  assert.equal(status, "starting");
  assert.match(reason, /^runs its hook beforeStart \(for [\d.]+ m?s\)$/);
  const { code, out } = await cli(folder, ["stop", "web"]);
  assert.deepEqual([code, out.trim()], [0, "web: stopped"]);
  assert.deepEqual(pids.filter(isAlive), []);
  await procman.line(/web +\| its hook beforeStart was ended after/);
  assert.ok(!procman.lines.some((line) => /could not be started|\| started/.test(line)), procman.lines.join("\n"));
  const why = await cli(folder, ["why", "web"]);
  assert.doesNotMatch(why.out, /could not be started/);
});

test("what a hook leaves in the background is ended before the process starts", async (context) => {
  const hooks = { beforeStart: "sleep 1000 & echo $! > left; echo 'done'" };
  // A killed process may be a zombie until its new parent has seen its end.
  const look = 'case "$(cut -d " " -f 3 /proc/$(cat left)/stat 2>&1)" in [SRD]) echo beside;; esac';
  const web = { id: "web", cmd: `${look}; exec ${SLEEP}`, hooks, ...loud };
  const folder = folderWith(context, { processes: [web] });
  const procman = new Procman(folder);
  await procman.line(/web +\| started/);
  await processExit(Number(linesIn(folder, "left")[0]));
  assert.ok(!procman.lines.some((line) => line.endsWith("beside")));
});

test("afterStop runs after each end, with how the run has ended; stop and the next start wait for it", async (context) => {
  const hooks = { afterStop: 'sleep 0.3; echo "${PROCMAN_EXIT_CODE-none} ${PROCMAN_EXIT_SIGNAL-none}" >> ends' };
  const web = {
    id: "web",
    cmd: `echo begins >> ends; test -f crash && rm crash && exit 7; exec ${SLEEP}`,
    hooks,
    restart: "error",
    ...loud,
  };
  const folder = folderWith(context, { processes: [web, { id: "job", cmd: "true", restart: "never", hooks }] });
  writeFileSync(join(folder, "crash"), "");
  const procman = new Procman(folder);
  await procman.line(/web +\| exited with code 7 after .*; runs its hook afterStop$/);
  assert.deepEqual(await linesOf(folder, "ends", 3), ["begins", "7 none", "begins"]);
  await procman.line(/web +\| exited with code 7 after .*; restart 1 at once$/);
  assert.equal((await cli(folder, ["stop", "web"])).code, 0);
  assert.deepEqual(linesIn(folder, "ends").slice(3), ["none SIGTERM"]);
  assert.equal((await cli(folder, ["start", "job"])).code, 0);
  assert.deepEqual(linesIn(folder, "ends").slice(4), ["0 none"]);
  const { incidents } = JSON.parse((await cli(folder, ["why", "web", "--json"])).out) as {
    incidents: readonly { code?: number }[];
  };
  assert.equal(incidents.at(-1)?.code, 7);
});

test("an afterStop that fails is logged and changes nothing else; terminate waits for afterStop within its time limit", async (context) => {
  const hooks = { afterStop: "echo bad luck; exit 4" };
  const last = { cmd: "sleep 0.4; echo bye > bye", timeout: 20 };
  const slow = { cmd: SLEEP, timeout: 0.3 };
  const folder = folderWith(context, {
    processes: [
      { id: "job", cmd: "true", hooks, ...loud, restart: "never" },
      { id: "web", cmd: SLEEP, hooks: { afterStop: last }, ...loud },
      { id: "slow", cmd: SLEEP, hooks: { afterStop: slow }, ...loud },
    ],
  });
  const procman = new Procman(folder);
  await procman.line(/job +\| afterStop: bad luck$/);
  await procman.line(/job +\| its hook afterStop exited with code 4 after/);
  await procman.line(/job +\| finished after/);
  await procman.count(/started \(pid/, 3);
  assert.equal(await procman.stop(), 0);
  assert.deepEqual(linesIn(folder, "bye"), ["bye"]);
  await procman.line(/slow +\| its hook afterStop did not end within 300 ms; ending it$/);
});

test("a second SIGINT kills hooks, too", async (context) => {
  const hooks = { afterStop: { cmd: "trap '' TERM; echo $$ > pid; while true; do sleep 1; done", timeout: 0 } };
  const folder = folderWith(context, { processes: [{ id: "web", cmd: SLEEP, hooks, ...loud }] });
  const procman = new Procman(folder);
  await procman.line(/web +\| started/);
  procman.child.kill("SIGINT");
  const [pid] = (await linesOf(folder, "pid", 1)).map(Number);
  await procman.stop("SIGINT");
  await processExit(pid as number);
});

test("a changed hook applies without a restart: from the next end and the next start on", async (context) => {
  const web = (hooks: object): ProcessConfig => ({ id: "web", cmd: SLEEP, hooks, ...loud });
  const write = (folder: string, hooks: object): void =>
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes: [web(hooks)] }));
  const folder = folderWith(context, { processes: [web({})] });
  const procman = new Procman(folder);
  await procman.line(/web +\| started/);
  const { pid } = await recordOf(folder, "web");
  write(folder, { beforeStart: "echo before-2 >> said", afterStop: "echo after-2 >> said" });
  const plan = await cli(folder, ["plan"]);
  assert.match(plan.out, /web .*hooks/);
  assert.equal((await cli(folder, ["reload"])).code, 0);
  assert.equal((await recordOf(folder, "web")).pid, pid);
  const show = await cli(folder, ["show", "web"]);
  assert.match(show.out, /hook +beforeStart: echo before-2 >> said \(at most 60 s\)/);
  assert.equal((await cli(folder, ["restart", "web"])).code, 0);
  assert.deepEqual(linesIn(folder, "said"), ["after-2", "before-2"]);
  write(folder, {});
  assert.equal((await cli(folder, ["reload"])).code, 0);
  assert.equal((await cli(folder, ["stop", "web"])).code, 0);
  assert.equal(linesIn(folder, "said").length, 2);
});

test("all lines of a hook that prints a lot are stored, in order, before the first line of the run", async (context) => {
  const hooks = { beforeStart: "seq 1 5000" };
  const folder = folderWith(context, { processes: [{ id: "web", cmd: `echo up; exec ${SLEEP}`, hooks, ...loud }] });
  const procman = new Procman(folder);
  await procman.line(/web +\| up$/);
  const texts = procman.lines.flatMap((line) => /\| (beforeStart: \d+|up)$/.exec(line)?.[1] ?? []);
  const expected = Array.from({ length: 5_000 }, (_, index) => `beforeStart: ${index + 1}`);
  assert.deepEqual(texts, [...expected, "up"]);
});

test("beforeStart may write the env file of its process", async (context) => {
  const hooks = { beforeStart: "echo NAME=made > .env" };
  const folder = folderWith(context, {
    processes: [{ id: "web", cmd: `echo name=$NAME; exec ${SLEEP}`, envFile: ".env", hooks, ...loud }],
  });
  const procman = new Procman(folder);
  await procman.line(/web +\| name=made$/);
});

/** The image of `docker/Dockerfile`, really built and run by a Docker engine: docs/guide/containers.md. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { type TestContext, test } from "node:test";
import { blocksOf } from "../pages/page-blocks.ts";
import { ContainerRig, IMAGE, type ProcessRecord, READ_ONLY } from "../support/container-rig.ts";
import { until } from "../support/docker-engine.ts";
import { isMissing } from "../support/system-programs.ts";

type Try = (rig: ContainerRig, context: TestContext) => Promise<void> | void;

const PROCMAN = ["keeper", "service", "logger"] as const;
/** Megabytes of output. */
const FLOOD = 200;
/** `docker stop` kills after this many seconds. */
const STOP_LIMIT = 10;
/** What the name of a container is made of. */
let containers = 0;

const nextName = (): string => `test-${++containers}`;
const node = (script: string): string => `node -e '${script}'`;
const pidsOf = (records: readonly ProcessRecord[]): readonly unknown[] => records.map(({ id, pid }) => [id, pid]);
const exitCode = (rig: ContainerRig, name: string): number => Number(rig.inspect(name, ".State.ExitCode"));
const isUp = (rig: ContainerRig, name: string): boolean => rig.inspect(name, ".State.Running") === "true";
const started = (rig: ContainerRig, name: string, id: string): number =>
  rig.entries(name).filter(({ process, text }) => process === id && text.startsWith("started (pid")).length;

/** Prints what it does at SIGTERM, for which it takes a moment. */
const slow = node(
  'process.on("SIGTERM", () => setTimeout(() => process.exit(0), 200)); setInterval(() => {}, 1000); console.log("up")',
);
const web = { id: "web", cmd: "node server.js", autostart: true, restart: "always" };

const asOtherUser: Try = async (rig, context) => {
  const name = nextName();
  const begin = performance.now();
  rig.start(context, name, ...READ_ONLY, IMAGE);
  const records = await rig.running(name, "web", "mail");
  context.diagnostic(`up after ${Math.round(performance.now() - begin)} ms`);
  assert.equal(rig.titles(name).get(1), "tini -- procman run");
  const ofProcess = (pid: number | undefined): string =>
    rig.inside(name, "sh", "-c", `grep -h ^Uid: /proc/${pid}/status`);
  const pids = [1, ...PROCMAN.map((part) => rig.part(name, part)), ...records.map(({ pid }) => pid)];
  for (const pid of pids) assert.match(ofProcess(pid), /^Uid:\t1000\t1000\t1000\t1000$/m, `process ${pid}`);
  const refused = "for f in /x /app/x /home/node/x /var/x /tmp/x; do if touch $f 2>/dev/null; then echo $f; fi; done";
  assert.equal(rig.inside(name, "sh", "-c", refused), "", "the root can't be written to");
  const stopping = performance.now();
  rig.docker("stop", name);
  const took = performance.now() - stopping;
  context.diagnostic(`stopped in ${Math.round(took)} ms`);
  assert.ok(took < STOP_LIMIT * 1_000);
  assert.equal(exitCode(rig, name), 0);
  assert.equal(rig.entries(name).at(-1)?.text, "everything is stopped");
};

const inOrder: Try = async (rig, context) => {
  const name = nextName();
  const processes = [
    { id: "db", cmd: slow, autostart: true },
    { id: "api", cmd: slow, autostart: true, dependsOn: ["db"] },
    { id: "front", cmd: slow, autostart: true, dependsOn: ["api"] },
  ];
  rig.start(context, name, ...READ_ONLY, ...rig.configured(processes), IMAGE);
  await until(() => rig.entries(name).filter(({ text }) => text === "up").length === 3, "all three");
  rig.docker("stop", name);
  assert.equal(exitCode(rig, name), 0);
  const steps = rig.entries(name).filter(({ process, text }) => process !== undefined && text.startsWith("stopped"));
  assert.deepEqual(
    steps.map(({ process }) => process),
    ["front", "api", "db"],
  );
};

const deaf: Try = async (rig, context) => {
  const name = nextName();
  const processes = [{ id: "deaf", cmd: "node programs/ignore-signals.js", autostart: true, terminateTimeout: 1 }, web];
  rig.start(context, name, ...READ_ONLY, ...rig.configured(processes), IMAGE);
  await rig.running(name, "deaf", "web");
  const begin = performance.now();
  rig.docker("stop", name);
  assert.ok(performance.now() - begin < STOP_LIMIT * 1_000, "the container ends by itself");
  assert.equal(exitCode(rig, name), 0);
  assert.ok(rig.entries(name).some(({ process, text }) => process === "deaf" && /SIGKILL/.test(text)));
};

const interrupted: Try = async (rig, context) => {
  const name = nextName();
  rig.start(context, name, ...READ_ONLY, ...rig.configured([web]), IMAGE);
  await rig.running(name, "web");
  rig.docker("kill", "-s", "INT", name);
  await until(() => !isUp(rig, name), "the end");
  assert.equal(exitCode(rig, name), 0);
};

const parts: Try = async (rig, context) => {
  const name = nextName();
  rig.start(context, name, ...READ_ONLY, "--restart", "always", IMAGE);
  const before = pidsOf(await rig.running(name, "web", "mail"));
  for (const part of ["service", "logger"] as const) {
    const killed = rig.part(name, part);
    rig.signal(name, "KILL", killed);
    await until(() => ![0, killed].includes(rig.part(name, part)), `another ${part}`);
    assert.deepEqual(pidsOf(await rig.running(name, "web", "mail")), before, `after a kill of the ${part}`);
  }
  assert.equal(rig.zombies(name), 0);
  rig.signal(name, "KILL", rig.part(name, "keeper"));
  await until(() => rig.inspect(name, ".RestartCount") === "1", "a start by the engine");
  await rig.running(name, "web", "mail");
  assert.equal(started(rig, name, "web"), 2, "once for each start of the container");
};

/** `options` say what is PID 1. */
const orphans =
  (left: number, entrypoint: readonly string[], ...options: readonly string[]): Try =>
  async (rig, context) => {
    const name = nextName();
    const processes = [
      { id: "orphans", cmd: "cd /run/procman; exec sh /app/programs/leave-orphans.sh", autostart: true },
    ];
    rig.start(context, name, ...READ_ONLY, ...rig.configured(processes), ...options, IMAGE, ...entrypoint);
    const ended = (): number =>
      Number(rig.engine.tryDocker("exec", name, "sh", "-c", "wc -l < /run/procman/orphans.ended") ?? 0);
    await until(() => ended() === 20, "the end of 20 orphans");
    await until(() => rig.zombies(name) === left, `${left} zombies`);
    const warned = rig.logs(name).filter((line) => line.includes("is PID 1 here"));
    assert.equal(warned.length, left === 0 ? 0 : 1);
    rig.docker("stop", name);
    assert.equal(exitCode(rig, name), 0);
  };

const otherFirst: Try = async (rig, context) => {
  const name = nextName();
  rig.start(
    context,
    name,
    ...READ_ONLY,
    ...rig.configured([web, { ...web, id: "mail", cmd: "node mail.js" }]),
    IMAGE,
    "sleep",
    "infinity",
  );
  rig.inside(name, "procman", "run", "--detach");
  const before = pidsOf(await rig.running(name, "web", "mail"));
  const keeper = rig.part(name, "keeper");
  rig.signal(name, "KILL", keeper);
  await until(() => ![0, keeper].includes(rig.part(name, "keeper")), "another keeper");
  assert.deepEqual(pidsOf(await rig.running(name, "web", "mail")), before);
  rig.inside(name, "procman", "terminate");
  assert.deepEqual(
    [...rig.titles(name).values()].filter((title) => /procman\[|node /.test(title)),
    [],
    "nothing of procman is left",
  );
};

const exitWith: Try = (rig, context) => {
  for (const [script, code] of [
    ["process.exit(7)", 7],
    ["process.exit(0)", 0],
    ['process.kill(process.pid, "SIGKILL")', 137],
  ] as const) {
    const name = nextName();
    const options = rig.configured([web, { id: "job", cmd: node(script), autostart: true }]);
    rig.start(context, name, ...READ_ONLY, ...options, IMAGE, "procman", "run", "--exit-with", "job");
    assert.equal(Number(rig.docker("wait", name)), code, script);
    assert.equal(rig.entries(name).at(-1)?.text, "everything is stopped");
  }
};

const health: Try = async (rig, context) => {
  const name = nextName();
  const untilFile = node(
    'require("fs").watch("/run/procman", (_, name) => name === "end" && process.exit(3)); console.log("up")',
  );
  const options = [
    ...rig.configured([web, { id: "frail", cmd: untilFile, autostart: true, restart: "error", restartLimit: 0 }]),
  ];
  rig.start(context, name, ...READ_ONLY, ...options, "--health-interval", "1s", "--health-retries", "1", IMAGE);
  const healthIs = (state: string): Promise<number> =>
    until(() => rig.inspect(name, ".State.Health.Status") === state, state);
  await healthIs("healthy");
  rig.inside(name, "touch", "/run/procman/end");
  await healthIs("unhealthy");
  assert.ok(isUp(rig, name), "an unhealthy container goes on");
  assert.equal(rig.inspect(name, "(index .State.Health.Log 0).ExitCode"), "0");
  rig.inside(name, "procman", "start", "frail");
  await healthIs("healthy");
};

const LINES = 10_000;
const LONG = 100_000;

const lines: Try = async (rig, context) => {
  const name = nextName();
  const burst = `for (let n = 0; n < ${LINES}; n++) console.log(n)`;
  const options = rig.configured([
    { id: "out", cmd: node(burst), autostart: true },
    { id: "err", cmd: node(burst.replace("log", "error")), autostart: true },
    { id: "long", cmd: node(`console.log("\\"".repeat(${LONG}))`), autostart: true },
  ]);
  rig.start(context, name, ...READ_ONLY, ...options, IMAGE, "procman", "run", "--once");
  assert.equal(Number(rig.docker("wait", name)), 0);
  const entries = rig.entries(name);
  const numbers = Array.from({ length: LINES }, (_, n) => String(n));
  const textsOf = (id: string, category: string): readonly string[] =>
    entries.filter((entry) => entry.process === id && entry.category === category).map(({ text }) => text);
  assert.deepEqual(textsOf("out", "stdout"), numbers);
  assert.deepEqual(textsOf("err", "stderr"), numbers);
  assert.deepEqual(textsOf("long", "stdout"), ['"'.repeat(LONG)], "also a line that the log driver divides");
};

/** `place`: options that say where the state folder is. */
const again =
  (...place: readonly string[]): Try =>
  async (rig, context) => {
    const name = nextName();
    rig.start(context, name, ...place, IMAGE);
    const seen: unknown[] = [pidsOf(await rig.running(name, "web", "mail"))];
    const restarts = [["restart"], ["kill", "start"], ["kill", "start"], ["restart", "-t", "0"]];
    for (const [verb = "", ...more] of restarts) {
      const next = more[0] === "start" ? undefined : more;
      rig.docker(verb, ...(next ?? []), name);
      if (next === undefined) rig.docker("start", name);
      const records = await rig.running(name, "web", "mail");
      seen.push(pidsOf(records));
      assert.deepEqual(
        records.map(({ restarts: count }) => count),
        [0, 0],
        "they start anew",
      );
      const copies = [...rig.titles(name).values()].filter((title) => title === "node server.js");
      assert.equal(copies.length, 1, "one copy");
      assert.equal(started(rig, name, "web"), seen.length, "one start for each of the container");
    }
    context.diagnostic(`pids after each start: ${JSON.stringify(seen)}`);
    rig.docker("stop", name);
    assert.equal(exitCode(rig, name), 0);
  };

/** A process that prints as fast as it can. `size`: of the tmpfs, in megabytes. */
const flood =
  (size: number, store: object): Try =>
  async (rig, context) => {
    const name = nextName();
    const flooding = { id: "flood", cmd: "yes 'a line that is printed again and again'", autostart: true };
    const limits = ["--read-only", "--tmpfs", `/run/procman:size=${size}m`];
    const options = rig.configured([flooding, web], { logger: { stdout: "/dev/null", ...store } });
    rig.start(context, name, ...limits, ...options, IMAGE);
    await rig.running(name, "flood", "web");
    const numberOf = (script: string): number => Number(rig.inside(name, "sh", "-c", script));
    let [most, read] = [0, 0];
    const logger = rig.part(name, "logger");
    const isFlooded = (): boolean => {
      most = Math.max(most, numberOf("df --output=used -k /run/procman | tail -1") / 1024);
      read = numberOf(`sed -n 's/^rchar: //p' /proc/${logger}/io`) / 1e6;
      return read > FLOOD;
    };
    await until(isFlooded, `${FLOOD} MB of output`);
    context.diagnostic(`at most ${most.toFixed(1)} MB of ${size} while the logger read ${read.toFixed(0)} MB`);
    assert.ok(most < size * 0.9);
    assert.ok(!rig.logs(name).some((line) => line.includes("no space left")));
  };

const second: Try = async (rig, context) => {
  const name = nextName();
  const processes = [{ id: "deaf", cmd: "node programs/ignore-signals.js", autostart: true, terminateTimeout: 600 }];
  rig.start(context, name, ...READ_ONLY, ...rig.configured(processes), IMAGE, "procman", "run", "--exit-with", "deaf");
  await rig.running(name, "deaf");
  rig.docker("kill", "-s", "TERM", name);
  await until(() => rig.entries(name).some(({ text }) => text.startsWith("stopping")), "the stop");
  rig.docker("kill", "-s", "TERM", name);
  await until(() => !isUp(rig, name), "the end");
  assert.equal(exitCode(rig, name), 1);
};

const outOfMemory: Try = async (rig, context) => {
  const name = nextName();
  const cmd = node("for (const all = []; ; ) all.push(Buffer.alloc(1e6, 1))");
  const options = rig.configured([web, { id: "hog", cmd, restart: "error", restartLimit: 1, restartDelayMs: 10 }]);
  rig.start(context, name, ...READ_ONLY, "--memory", "300m", ...options, IMAGE);
  const before = pidsOf(await rig.running(name, "web")).slice(0, 1);
  rig.inside(name, "procman", "start", "hog", "--no-wait");
  await until(
    () => rig.records(name).some(({ id, status }) => id === "hog" && status === "exhausted"),
    "the second end of the hog",
  );
  assert.equal(started(rig, name, "hog"), 2, "procman has restarted it");
  assert.deepEqual(pidsOf(await rig.running(name, "web")).slice(0, 1), before);
};

const compose: Try = async (rig, context) => {
  if (isMissing(context, "docker-compose")) return;
  const run = (...args: readonly string[]): string =>
    execFileSync("docker-compose", args, {
      cwd: rig.project,
      env: rig.engine.environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  context.after(() => run("down", "--rmi", "local"));
  run("up", "--build", "--detach");
  const name = run("ps", "-q").trim();
  await rig.running(name, "web", "mail");
  assert.equal(rig.inspect(name, ".HostConfig.ReadonlyRootfs"), "true");
  await until(() => rig.inspect(name, ".State.Health.Status") === "healthy", "a healthy container");
  const { web: _, ...limits } = { web, seconds: Number(rig.inspect(name, ".Config.StopTimeout")) };
  assert.deepEqual(limits, { seconds: 12 });
  run("stop");
  assert.equal(exitCode(rig, name), 0);
};

const image: Try = (rig, context) => {
  const run = (script: string): string => rig.docker("run", "--rm", IMAGE, "sh", "-c", script);
  const sizes = run("du -sb /app/node_modules/procman /usr/bin/tini* | cut -f1").trim().split("\n").map(Number);
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
  context.diagnostic(`procman and tini have ${megabytes.toFixed(1)} MB`);
  assert.ok(megabytes < 5);
  const surplus = "find / -xdev -name _cacache -o -xdev -user node -type f | grep -v ^/proc; find /app -name .procman";
  assert.equal(
    run(surplus),
    "",
    "no cache of npm, no file that its user could change, no state of the machine that builds",
  );
};

const TRIES: Readonly<Record<string, Try>> = {
  "the image has what runs, and nothing of the build": image,
  "with a read-only root all run as the user node, nothing but the state folder can be written to, and docker stop ends all with code 0":
    asOtherUser,
  "docker stop ends processes in the order of their dependencies": inOrder,
  "a process that ignores SIGTERM is killed before the engine kills the container": deaf,
  "SIGINT ends everything gracefully": interrupted,
  "a kill of service and logger spares the processes; that of the keeper ends the container, and everything starts once again":
    parts,
  "tini of the image waits for orphans": orphans(0, []),
  "docker run --init waits for orphans": orphans(0, ["run"], "--init", "--entrypoint", "procman"),
  "as PID 1 procman leaves zombies, says so once, and ends in order": orphans(20, ["run"], "--entrypoint", "procman"),
  "where another program is PID 1, a kill of the keeper spares the processes": otherFirst,
  "a second SIGTERM kills what still runs, and --exit-with gives 1": second,
  "when the memory of the container is full, the kernel ends the process that fills it, and procman restarts it":
    outOfMemory,
  "a tmpfs of 64 MB is enough for a stored log of 16 MB": flood(64, { internalLogSize: "16MB" }),
  "a tmpfs of 16 MB is enough without a stored log": flood(16, { internalLogHours: 0 }),
  "run --exit-with gives the container the exit code of one process": exitWith,
  "the health check turns unhealthy when a process has failed permanently, and healthy when it runs again": health,
  "each line of docker logs is one object of JSON, and a burst of 10 000 lines is complete and in order": lines,
  "a restart of the container starts each process once, with its state folder in memory": again(...READ_ONLY),
  "a restart of the container starts each process once, with its state folder on a volume, also where pids are the same":
    again("--read-only", "-v", "/run/procman"),
  "a restart of the container starts each process once, with its state folder in the layer of the container": again(),
  "the compose file runs the project": compose,
};

test("the image of docker/Dockerfile", async (context) => {
  const configuration = blocksOf("docs/guide/containers.md").find(({ language }) => language === "jsonc")?.text ?? "";
  const rig = await ContainerRig.create(context, configuration);
  if (rig === undefined) return;
  for (const [title, attempt] of Object.entries(TRIES)) await context.test(title, async (own) => attempt(rig, own));
});

/** `procman run --detach`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runDetached } from "../../src/cli/detach.ts";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { processStat } from "../../src/core/os/process-stat.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment, eventually, folderWith, isAlive, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { smallDisk } from "../support/skip.ts";

const WEB = { id: "web", ...SLEEPER };

function pidOf(id: string, table: string): number {
  const pid = Number(new RegExp(`^${id} +running +(\\d+)`, "m").exec(table)?.[1]);
  assert.ok(pid > 1, table);
  return pid;
}

/** Regular files below a folder, without those that may stay after the end: secret, logs, history and observations. */
function leftovers(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) =>
      !statSync(join(folder, name)).isDirectory() &&
      !/^(?:secret|daemon\.log|(?:logs|incidents|metrics|history)\/.*)$/.test(name),
  );
}

/** Blocks a `procman run --detached` at its start until the file `go` exists; it writes its pid to `blocked`. */
function blockStart(folder: string): {
  readonly env: NodeJS.ProcessEnv;
  readonly pid: () => Promise<number>;
  readonly lift: () => void;
} {
  const script = join(folder, "block.cjs");
  const [blocked, go] = [join(folder, "blocked"), join(folder, "go")];
  writeFileSync(
    script,
    `const fs = require("node:fs");
if (process.argv.includes("--detached")) {
  fs.writeFileSync(${JSON.stringify(`${blocked}.tmp`)}, String(process.pid));
  fs.renameSync(${JSON.stringify(`${blocked}.tmp`)}, ${JSON.stringify(blocked)});
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!fs.existsSync(${JSON.stringify(go)}) && fs.existsSync(__filename)) Atomics.wait(cell, 0, 0, 10);
}`,
  );
  return {
    env: { NODE_OPTIONS: `--require ${script}` },
    pid: () => eventually(() => (existsSync(blocked) ? Number(readFileSync(blocked, "utf8")) : undefined)),
    lift: () => writeFileSync(go, ""),
  };
}

test("run --detach prints the states of all processes and leaves procman in a separate session until `terminate`", async (context) => {
  const { folder, state } = homeOf(context, [WEB, { id: "job", cmd: "true", cron: "0 3 * * *" }]);
  const started = await procman(folder, ["run", "--detach"]);
  assert.equal(started.code, 0, started.err);
  assert.match(started.out, /^ID +STATUS/);
  assert.match(started.out, /^job +created +0 +has not been started yet; next run/m);
  const keeper = keeperIn(state);
  assert.match(
    started.out,
    new RegExp(`test is running in the background \\(pid ${keeper}\\).*\\.procman/test/logs/console\\.log\\n$`),
  );
  const [web, stat] = [pidOf("web", started.out), processStat(keeper)];
  assert.deepEqual({ session: stat?.session, group: stat?.group }, { session: keeper, group: keeper });
  assert.equal(readlinkSync(`/proc/${keeper}/fd/0`), "/dev/null");
  for (const fd of [1, 2]) assert.equal(readlinkSync(`/proc/${keeper}/fd/${fd}`), join(state, "daemon.log"));
  assert.equal(statSync(join(state, "daemon.log")).mode & 0o777, 0o600);
  assert.equal(pidOf("web", (await procman(folder, ["status"])).out), web);
  const ended = await procman(folder, ["terminate"]);
  assert.deepEqual({ code: ended.code, out: ended.out }, { code: 0, out: "test has ended, with its 2 processes\n" });
  for (const pid of [keeper, web]) assert.ok(!isAlive(pid));
  assert.deepEqual(leftovers(state), []);
});

test("neither a closed terminal nor Ctrl-C in it reaches a detached procman", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  const line = `${process.execPath} ${BIN} run -d && echo READY && exec sleep 1000`;
  const terminal = spawn("script", ["-qec", line, "/dev/null"], {
    cwd: folder,
    env: cleanEnvironment({ NO_COLOR: "1" }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(terminal, "exit");
  let text = "";
  terminal.stdout.on("data", (data) => {
    text += String(data);
  });
  await eventually(() => (/^READY/m.test(text) ? true : undefined));
  terminal.stdin.write("\u0003");
  await ended;
  const keeper = keeperIn(state);
  assert.ok(keeper > 0, text);
  const { out } = await procman(folder, ["status"]);
  assert.equal(pidOf("web", out), pidOf("web", text));
  assert.equal(keeperIn(state), keeper);
});

test("a detached procman keeps no folder, and finds a relative state folder", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const elsewhere = folderWith(context, { processes: [] });
  const config = join(folder, "procman.json");
  const env = { PROCMAN_STATE_DIR: "state" };
  const started = await procman(elsewhere, ["run", "-dc", config], env);
  assert.equal(started.code, 0, started.err);
  const keeper = keeperIn(join(elsewhere, "state/test"));
  assert.equal(readlinkSync(`/proc/${keeper}/cwd`), "/");
  const ended = await procman(elsewhere, ["terminate", "--config", config], env);
  assert.equal(ended.code, 0, ended.err);
  await processExit(keeper);
});

test("a second run is refused in every form and names the first one, which keeps running", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  const first = await procman(folder, ["run", "--detach"]);
  const keeper = keeperIn(state);
  writeFileSync(join(state, "daemon.log"), "of the first\n", { flag: "a" });
  const elsewhere = folderWith(context, { processes: [] });
  const from = (cwd: string, ...args: readonly string[]) => procman(cwd, ["run", ...args]);
  const seconds = [
    await from(folder),
    await from(folder, "--detach"),
    await from(elsewhere, "--config", join(folder, "procman.json")),
    await from(elsewhere, "-d", "--config", join(folder, "procman.json")),
  ];
  for (const { code, out, err } of seconds) {
    assert.deepEqual({ code, out }, { code: 1, out: "" });
    assert.match(
      err,
      new RegExp(
        `^procman: Cannot run: procman is already running .*\\(pid ${keeper}, ${state}\\); "procman logs -f" follows the output, "procman reload" applies`,
      ),
    );
  }
  assert.equal(pidOf("web", (await procman(folder, ["status"])).out), pidOf("web", first.out));
  assert.match(readFileSync(join(state, "daemon.log"), "utf8"), /of the first\n$/);
});

test("a second run from another folder with the same PROCMAN_STATE_DIR and name is refused and names the first one", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const other = folderWith(context, { name: "test", processes: [WEB] });
  const env = { PROCMAN_STATE_DIR: join(folder, "all") };
  const state = join(folder, "all/test");
  assert.equal((await procman(folder, ["run", "--detach"], env)).code, 0);
  const keeper = keeperIn(state);
  for (const args of [["run"], ["run", "--detach"]]) {
    const { code, err } = await procman(other, args, env);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`already running .*\\(pid ${keeper}, ${state}\\)`));
  }
  assert.equal((await procman(folder, ["terminate"], env)).code, 0);
  await processExit(keeper);
});

test("7 run --detach of an invalid configuration prints all problems, ends with exit code 78 and creates nothing", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmdd: "x" }]);
  const { code, out, err } = await procman(folder, ["run", "--detach"]);
  assert.deepEqual({ code, out }, { code: 78, out: "" });
  assert.match(err, /Did you mean "cmd"/);
  assert.ok(!existsSync(join(folder, ".procman")));
  assert.equal((await procman(folder, ["run", "-d", "--config", "none.json"])).code, 78);
});

test("run --detach --wait tells a failed process at once, with its last lines, and waits for all that can still come up; code 1", async (context) => {
  const { folder } = homeOf(context, [
    WEB,
    { ...WEB, id: "slow", ready: { exec: "test -e go" } },
    { id: "broken", cmd: "echo no database; exit 3", autostart: true, restartLimit: 0 },
    { id: "tried", cmd: "echo no queue; exit 4", autostart: true, restartDelayMs: 100_000 },
    { id: "skipped", ...SLEEPER, dependsOn: [{ id: "broken", condition: "finished" }] },
    { id: "behind", ...SLEEPER, dependsOn: [{ id: "tried", condition: "finished" }] },
    { id: "last", ...SLEEPER, dependsOn: ["behind"] },
  ]);
  const started = spawn(process.execPath, [BIN, "run", "--detach", "--wait", "--timeout", "600"], {
    cwd: folder,
    env: cleanEnvironment(),
  });
  const ended = once(started, "exit");
  const texts = { out: "", err: "" };
  started.stdout.on("data", (data) => (texts.out += String(data)));
  started.stderr.on("data", (data) => (texts.err += String(data)));
  const told = [
    /^procman: Cannot start "broken": it exited with code 3; no restart is allowed\n {2}broken \| no database$/m,
    /^procman: Cannot start "tried": it exited with code 4, restart 1 in .*\n {2}tried \| no queue$/m,
    /^procman: Cannot start "skipped": it is skipped: it depends on broken, which has failed permanently: exited with code 3; no/m,
  ];
  const toldLater = [
    /^procman: Cannot start "behind": it waits for tried \(finished\)$/m,
    /^procman: Cannot start "last": it waits for behind \(ready\)$/m,
  ];
  await eventually(() => (told.every((pattern) => pattern.test(texts.err)) ? true : undefined), {
    what: "all failures",
  });
  assert.equal(texts.out, "", "it waits for slow");
  writeFileSync(join(folder, "go"), "");
  assert.deepEqual(await ended, [1, null]);
  assert.match(texts.out, /^slow +running +\d+/m);
  for (const pattern of toldLater) assert.match(texts.err, pattern);
  assert.equal(texts.err.match(/Cannot start/g)?.length, told.length + toldLater.length, texts.err);
});

test("options that contradict each other are reported as such", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  for (const args of [
    ["-c", "-d"],
    ["--detach", "--confg", "x"],
  ]) {
    const { code, err } = await procman(folder, ["run", ...args]);
    assert.equal(code, 64, args.join(" "));
    assert.match(err, /^procman: Cannot run.*see "procman help run"\n$/);
  }
});

test("run --detach prints the warnings of the configuration", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "true" }]);
  const { code, err } = await procman(folder, ["run", "--detach"]);
  assert.equal(code, 0);
  assert.match(err, /1 warning[\s\S]*No start policy/);
});

test("run --detach of a procman that ends during its start prints its messages and has its exit code", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  // A file in the place of a folder.
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "run"), "");
  const { code, out, err } = await procman(folder, ["run", "--detach"]);
  assert.deepEqual({ code, out }, { code: 1, out: "" });
  assert.match(err, /^procman: Cannot run: the state folder .* can't be used/m);
  assert.equal(keeperIn(state), 0);
});

test("run --detach says that the disk of the state folder is full, though its log takes no message", async (context) => {
  const disk = smallDisk(context, "size=64k");
  if (disk === undefined) return;
  const { folder } = homeOf(context, [WEB]);
  assert.throws(() => writeFileSync(join(disk, "fill"), Buffer.alloc(1_000_000)), /ENOSPC/);
  const { code, out, err } = await procman(folder, ["run", "--detach"], { PROCMAN_STATE_DIR: join(disk, "state") });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^procman: Cannot run: the state folder .*\/state\/test can't be used: .*no space left on device/);
});

test("run --detach reports that procman was killed during its start", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const { env, pid } = blockStart(folder);
  const started = procman(folder, ["run", "--detach"], env);
  process.kill(await pid(), "SIGKILL");
  const { code, err } = await started;
  assert.deepEqual({ code, err }, { code: 1, err: "procman: was killed by SIGKILL before it had come up\n" });
});

test("Ctrl-C ends only the waiting of run --detach, and a message says so", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  const { env, pid, lift } = blockStart(folder);
  const command = spawn(process.execPath, [BIN, "run", "--detach"], {
    cwd: folder,
    env: cleanEnvironment(env),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  command.stderr.on("data", (data) => {
    text += String(data);
  });
  const keeper = await pid();
  command.kill("SIGINT");
  assert.deepEqual(await once(command, "close"), [130, null]);
  assert.match(text, new RegExp(`continues in the background \\(pid ${keeper}\\), "procman terminate" stops it`));
  lift();
  await eventually(() => (keeperIn(state) === keeper ? true : undefined));
});

test("a procman that needs too long to start is left running, and its pid is printed", async (context: TestContext) => {
  const { folder, state } = homeOf(context, [WEB]);
  const { env, pid, lift } = blockStart(folder);
  const before = process.env.NODE_OPTIONS;
  context.after(() => {
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
  });
  process.env.NODE_OPTIONS = env.NODE_OPTIONS;
  const outcome = runDetached({ config: join(folder, "procman.json") }, 100).then(
    () => undefined,
    (error: unknown) => error,
  );
  const keeper = await pid();
  const error = await outcome;
  assert.ok(error instanceof ProcmanError && error.exitCode === 69, String(error));
  assert.ok(error.message.includes(`it was started (pid ${keeper}), but has not come up within 0.1 s`), error.message);
  lift();
  await eventually(() => (keeperIn(state) === keeper ? true : undefined));
});

test("if the API can't listen, the reason is printed, the processes run, and commands work", async (context) => {
  const taken = createServer().listen(0, "127.0.0.1");
  context.after(() => void taken.close());
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { folder, state } = homeOf(context, [{ ...WEB, cmd: "echo $$ > pid; exec sleep 1000" }], { api: { port } });
  const started = await procman(folder, ["run", "--detach"]);
  assert.equal(started.code, 69);
  assert.match(
    started.err,
    new RegExp(
      `^procman: Cannot serve the API: procman is running \\(pid ${keeperIn(state)}\\), but has no API at 127\\.0\\.0\\.1:${port}: .*EADDRINUSE`,
    ),
  );
  assert.match((await procman(folder, ["status"])).out, /^web +running/m);
  const web = Number(
    await eventually(
      () => (existsSync(join(folder, "pid")) ? readFileSync(join(folder, "pid"), "utf8") : "") || undefined,
    ),
  );
  assert.ok(isAlive(web));
  const ended = await procman(folder, ["terminate"]);
  assert.deepEqual({ code: ended.code, out: ended.out }, { code: 0, out: "test has ended, with its process\n" });
  assert.ok(!isAlive(web));
});

test("an API that could not listen is served once its port is free, without a restart", async (context) => {
  const taken = createServer().listen(0, "127.0.0.1");
  context.after(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const { folder, state } = homeOf(context, [WEB], { api: { port } });
  assert.equal((await procman(folder, ["run", "--detach"])).code, 69);
  await new Promise((resolve) => taken.close(resolve));
  await eventually(() =>
    readFileSync(join(state, "endpoint.json"), "utf8").includes("EADDRINUSE") ? undefined : true,
  );
  assert.match((await procman(folder, ["status"])).out, /^web +running +\d+ .* 0 +runs$/m);
  const served = `the API is served at 127.0.0.1:${port} now`;
  for (let out = ""; !out.includes(served); ) ({ out } = await procman(folder, ["logs", "--search", served]));
});

test("run --detach ends with 1 and the last lines of what fails at once; --wait waits until all are ready", async (context) => {
  const slow = { id: "slow", cmd: "sleep 1.5; echo up; sleep 1000", autostart: true, ready: { log: "^up$" } };
  const { folder } = homeOf(context, [
    WEB,
    slow,
    { id: "after", ...SLEEPER, dependsOn: ["slow"] },
    { id: "broken", cmd: "echo 'Error: no such database'; seq 12; exit 3", autostart: true, restartDelayMs: 60_000 },
    { id: "nightly", cmd: "exit 4", cron: "0 3 * * *" },
  ]);
  const failed = await procman(folder, ["run", "--detach"]);
  assert.equal(failed.code, 1);
  const lines = ["Error: no such database", "…", ...Array.from({ length: 10 }, (_, index) => index + 3)];
  const [first, ...others] = failed.err.trimEnd().split("\n");
  assert.match(first ?? "", /^procman: Cannot start "broken": it exited with code 3/);
  assert.deepEqual(
    others,
    lines.map((line) => `  broken | ${line}`),
    "the error itself, too, where it is above the last lines",
  );
  assert.match(failed.out, /^web +running(?:.*\n)+test is running in the background/m);
  assert.match(failed.out, /^slow +running, not ready/m, "it doesn't wait for readiness");
  await procman(folder, ["terminate"]);
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [WEB, slow] }));
  const ready = await procman(folder, ["run", "--detach", "--wait"]);
  assert.deepEqual([ready.code, ready.err], [0, ""]);
  assert.match(ready.out, /^slow +running +\d/m);
  await procman(folder, ["terminate"]);
  const late = await procman(folder, ["run", "--detach", "--wait", "--timeout", "0.5"]);
  assert.equal(late.code, 1);
  assert.match(
    late.err,
    /^procman: Cannot wait for the start of "slow": timed out after 0\.5 s; it runs, is not ready yet.*$/m,
  );
});

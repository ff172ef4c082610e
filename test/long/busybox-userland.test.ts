/** Alpine's userland: /bin/sh is busybox's ash, and there is no program but busybox's applets and node. Node itself is that of this machine. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import type { Endpoint, LogEntry, ProcessRecord } from "../../src/core/contract/records.ts";
import { keeperIn, type Outcome } from "../support/cli.ts";
import { ask, DRAINING_SERVER } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { cleanEnvironment, eventually, isAlive, processExit } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { version } from "../support/versions.ts";

const NEXT = "1.99.0";
const NOBODY = 65_534;
const SCRIPT = join(ROOT, "test/support/busybox-userland.sh");

let home = "";
let applets = "";
let bin = "";

before(async () => {
  const { PROCMAN_TEST_PACKAGE = (await installProduct()).PROCMAN_TEST_PACKAGE } = process.env;
  bin = join(PROCMAN_TEST_PACKAGE, "dist/procman.cjs");
  home = mkdtempSync(join(tmpdir(), "procman-busybox-"));
  execFileSync("chmod", ["755", home]);
  applets = join(home, "applets");
});

after(() => rmSync(home, { recursive: true, force: true }));

/** False: this machine can't, and the test is skipped. */
function isPossible(context: TestContext): boolean {
  if (isMissing(context, "busybox") || isMissing(context, "unshare")) return false;
  if (process.getuid?.() !== 0) {
    context.skip("a mount namespace needs root");
    return false;
  }
  if (!existsSync(applets)) linkApplets();
  return true;
}

function linkApplets(): void {
  mkdirSync(applets);
  const busybox = ["/bin/busybox", "/usr/bin/busybox"].find(existsSync) ?? "busybox";
  copyFileSync(busybox, join(applets, "busybox"));
  const names = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n");
  for (const name of names.filter((each) => each !== "" && each !== "busybox"))
    symlinkSync("busybox", join(applets, name));
  writeFileSync(join(applets, "node"), "");
}

/** Runs a command among the applets. */
function inside(cwd: string, ...command: readonly string[]): Promise<Outcome> {
  const launcher = ["--mount", "--propagation", "private", "--", "/bin/sh", SCRIPT, applets, process.execPath];
  return new Promise((resolve) => {
    execFile("unshare", [...launcher, ...command], { cwd, env: cleanEnvironment() }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

class Box {
  readonly folder: string;
  readonly state: string;

  constructor(context: TestContext, processes: readonly object[]) {
    this.folder = mkdtempSync(join(home, "work-"));
    execFileSync("chmod", ["777", this.folder]);
    this.state = join(this.folder, ".procman/box");
    writeFileSync(join(this.folder, "procman.json"), JSON.stringify({ name: "box", processes }));
    context.after(async () => {
      const keeper = keeperIn(this.state);
      if (keeper === 0) return;
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    });
  }

  /** With these processes running. */
  static async start(context: TestContext, processes: readonly object[]): Promise<Box> {
    const box = new Box(context, processes);
    await box.must("run", "--detach", "--wait");
    return box;
  }

  procman(...args: readonly string[]): Promise<Outcome> {
    return inside(this.folder, process.execPath, bin, ...args);
  }

  async must(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.procman(...args);
    assert.equal(code, 0, `procman ${args.join(" ")}: ${out}${err}`);
    return out;
  }

  read(name: string): string {
    return existsSync(join(this.folder, name)) ? readFileSync(join(this.folder, name), "utf8") : "";
  }

  /** Waits until the file in the folder has such a text. */
  async has(name: string, pattern: RegExp): Promise<string> {
    return eventually(() => (pattern.test(this.read(name)) ? this.read(name) : undefined), {
      what: `${pattern} in ${name}`,
    });
  }

  async pidOf(id: string): Promise<number> {
    const record = JSON.parse(await this.must("status", id, "--json")) as ProcessRecord | readonly ProcessRecord[];
    return [record].flat()[0]?.pid ?? 0;
  }

  get endpoint(): Endpoint {
    return JSON.parse(readFileSync(join(this.state, "endpoint.json"), "utf8")) as Endpoint;
  }

  /** Kills a part, and waits for its replacement. */
  async kill(part: "keeper" | "service" | "logger"): Promise<void> {
    const find = (): number => {
      const keeper = keeperIn(this.state);
      if (part === "keeper" || keeper === 0) return keeper;
      return childrenOf(keeper).find((pid) => commandLineOf(pid).startsWith(`procman[box]: ${part}`)) ?? 0;
    };
    const victim = await eventually(() => find() || undefined);
    process.kill(victim, "SIGKILL");
    await processExit(victim);
    await eventually(() => (find() !== 0 && find() !== victim && isAlive(this.endpoint.pid)) || undefined, {
      what: `another ${part}`,
    });
  }
}

test("there is no shell but ash, and no program of util-linux, coreutils and procps", async (context) => {
  if (!isPossible(context)) return;
  const { code, out, err } = await inside(
    home,
    "sh",
    "-c",
    "command -v bash prlimit flock pgrep stdbuf; ls -l /bin/sh; node --version",
  );
  assert.equal(code, 0, err);
  assert.match(out, /^\S+ .* \/bin\/sh -> busybox\nv\d+\.\S+\n$/);
});

test("processes start, restart and stop with all that they have started: pipes, exec, strays in other sessions; hooks run", async (context) => {
  if (!isPossible(context)) return;
  const box = await Box.start(context, [
    { id: "pipe", cmd: "while true; do echo tick; sleep 0.1; done | tee -a piped", autostart: true },
    { id: "exec", cmd: "cd / && exec node -e 'setInterval(() => {}, 1000)'", autostart: true },
    { id: "tree", cmd: "sleep 1001 & setsid sleep 1002 & echo $! > stray; wait", autostart: true },
    {
      id: "hooked",
      cmd: "exec sleep 1003",
      autostart: true,
      hooks: { beforeStart: "echo before >> hooks", afterStop: 'echo "after $PROCMAN_EXIT_SIGNAL" >> hooks' },
    },
  ]);
  await box.has("piped", /tick\ntick\n/);
  const stray = Number(await box.has("stray", /^\d+\n$/));
  const [exec, tree] = [await box.pidOf("exec"), await box.pidOf("tree")];
  assert.match(commandLineOf(exec), /^node\0-e/, "the shell has become the program");
  const group = childrenOf(tree);
  await box.must("restart", "exec", "tree", "hooked");
  for (const pid of [exec, tree, stray, ...group]) assert.equal(isAlive(pid), false, String(pid));
  assert.equal(box.read("hooks"), "before\nafter SIGTERM\nbefore\n");
  await box.must("stop", "all");
  assert.equal((await box.procman("status", "tree")).code, 3);
  await box.must("terminate");
});

test("user, priorities, umask and limits apply; a hard limit of ash is that of the kernel", async (context) => {
  if (!isPossible(context)) return;
  const limits = {
    user: "nobody",
    ioNice: { class: "best-effort", level: 6 },
    oomScoreAdjust: 100,
    umask: "027",
    ulimits: {
      nofile: 256,
      nproc: 512,
      core: 0,
      fsize: "8MiB",
      stack: "4MiB",
      as: "unlimited",
      cpu: 1_000,
      memlock: "64KiB",
    },
  };
  const cmd = "{ id -u; umask; ionice -p $$; cat /proc/$$/oom_score_adj /proc/$$/limits; } > limited; exec sleep 1000";
  const box = await Box.start(context, [{ id: "limited", cmd, autostart: true, ...limits }]);
  const text = await box.has("limited", /Max realtime timeout/);
  assert.match(text, new RegExp(`^${NOBODY}\\n0027\\nbest-effort: prio 6\\n100\\n`));
  for (const [name, value] of [
    ["open files", 256],
    ["processes", 512],
    ["core file size", 0],
    ["file size", 8 << 20],
    ["stack size", 4 << 20],
    ["address space", "unlimited"],
    ["cpu time", 1_000],
    ["locked memory", 64 << 10],
  ])
    assert.match(text, new RegExp(`^Max ${name} +${value} +${value} `, "m"));
});

test("a program that a field needs and that is not there is named, with the package that has it", async (context) => {
  if (!isPossible(context)) return;
  for (const name of ["nice", "ionice"]) rmSync(join(applets, name), { force: true });
  const box = new Box(context, [{ id: "limited", cmd: "sleep 1000", nice: 5, ioNice: { class: "idle" } }]);
  const { code, err } = await box.procman("validate");
  symlinkSync("busybox", join(applets, "ionice"));
  assert.equal(code, 78);
  assert.match(err, /It needs the program "nice", which is not in PATH\. Install coreutils/);
  assert.match(
    err,
    /It needs the program "ionice", which is not in PATH\. Install util-linux \(on Alpine util-linux-misc\)/,
  );
});

test("checks by command, schedules, watched files and rotated logs work", async (context) => {
  if (!isPossible(context)) return;
  const box = await Box.start(context, [
    {
      id: "checked",
      cmd: "sleep 0.3; touch up; exec sleep 1000",
      autostart: true,
      ready: { exec: "test -f up" },
      health: { exec: "test ! -f ill | cat; test ! -f ill", interval: 0.2, failures: 1 },
    },
    { id: "job", cmd: "date -u >> jobs", cron: "* * * * * *" },
    { id: "watched", cmd: "echo start >> starts; exec sleep 1000", watch: ["source.ts"] },
    {
      id: "printer",
      cmd: "seq 1 20000",
      autostart: true,
      logger: { stdout: "logs/printer.log", rotate: { size: "20kB" } },
    },
  ]);
  await box.has("jobs", /\n.*\n/);
  await box.has("starts", /^start\n$/);
  writeFileSync(join(box.folder, "source.ts"), "");
  await box.has("starts", /^start\nstart\n$/);
  const checked = await box.pidOf("checked");
  writeFileSync(join(box.folder, "ill"), "");
  await processExit(checked);
  rmSync(join(box.folder, "ill"));
  const rotated = await eventually(() => {
    const names = readdirSync(join(box.folder, "logs")).filter((name) => name.startsWith("printer"));
    return names.length > 3 && names.filter((name) => name.endsWith(".gz")).length === names.length - 1
      ? names
      : undefined;
  });
  const { out } = await inside(
    box.folder,
    "sh",
    "-c",
    "cd logs && { zcat printer*.gz; cat printer.log; } | sort -n | uniq | wc -l",
  );
  assert.equal(Number(out), 20_000, rotated.join(" "));
});

test("a cluster behind one port, kills of each part, an upgrade and terminate: every process keeps its pid, no line is lost", async (context) => {
  if (!isPossible(context)) return;
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const box = await Box.start(context, [
    { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, cluster: { instances: 2, startPort, commonPort } },
    { id: "count", cmd: "n=0; while true; do n=$((n + 1)); echo line $n; sleep 0.01; done", autostart: true },
  ]);
  const pids = [await box.pidOf("web-1"), await box.pidOf("web-2"), await box.pidOf("count")];
  for (const part of ["service", "logger", "keeper"] as const) await box.kill(part);
  assert.ok((await ask(commonPort)) > 1);
  const next = version(mkdtempSync(join(home, "next-")), NEXT);
  const upgraded = await inside(box.folder, process.execPath, next.bin, "upgrade");
  assert.equal(upgraded.code, 0, upgraded.err);
  assert.match(upgraded.out, /^service .*replaced[\s\S]*^logger .*replaced[\s\S]*^balancer .*replaced/m);
  assert.equal(box.endpoint.version, NEXT);
  assert.ok((await ask(commonPort)) > 1);
  assert.deepEqual([await box.pidOf("web-1"), await box.pidOf("web-2"), await box.pidOf("count")], pids);
  await box.must("restart", "web");
  assert.notEqual(await box.pidOf("web-1"), pids[0]);
  const lines = (await box.must("logs", "count", "--json", "-n", "100000"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogEntry)
    .flatMap(({ text }) => /^line (\d+)$/.exec(text)?.[1] ?? [])
    .map(Number);
  assert.deepEqual(
    lines,
    lines.map((_, index) => index + 1),
  );
  await box.must("terminate");
  for (const pid of pids) assert.equal(isAlive(pid), false);
});

test("install writes for OpenRC what busybox's sh accepts, and the launcher runs", async (context) => {
  if (!isPossible(context)) return;
  const box = await Box.start(context, [{ id: "web", cmd: "exec sleep 1000", autostart: true }]);
  const plan = await box.must("install", "--system", "--run-as", "nobody", "--init", "openrc", "--dry-run");
  assert.match(plan, /\nrc-update add procman-box default\nrc-service procman-box start\n$/);
  const [, launcher = "", script = ""] =
    /(#!\/bin\/sh\n[\s\S]*?\n)\n# \/etc\/init\.d.*\n(#![\s\S]*)\n\n# then/.exec(plan) ?? [];
  for (const [name, text] of Object.entries({ launcher, script })) {
    writeFileSync(join(box.folder, name), text);
    const { code, err } = await inside(box.folder, "sh", "-n", name);
    assert.equal(code, 0, `${name}: ${err}`);
  }
  const status = await inside(box.folder, "sh", "launcher", "status");
  assert.match(status.out, /web +running/, status.err);
  const [reload = ""] = /^\tsu -s .*$/m.exec(script) ?? [];
  assert.match(reload, /^\tsu -s \/bin\/sh nobody -c '/);
  const asked = await inside(box.folder, "su", "-s", "/bin/sh", "nobody", "-c", "id -u");
  assert.equal(asked.out, `${NOBODY}\n`, asked.err);
  const cron = await box.procman("install", "--system", "--run-as", "nobody", "--init", "cron", "--dry-run");
  assert.equal(cron.code, 1);
  assert.match(cron.err, /that of busybox starts nothing at boot; use openrc, or install "cronie"/);
});

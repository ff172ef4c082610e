/** The folder that procman was called in is removed or replaced: every part comes back after a kill, and `upgrade` works. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { keeperIn, type Outcome, procman } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { childrenOf, nameOf, whileThere } from "../support/proc-files.ts";
import { eventually, isAlive, Procman, processExit } from "../support/procman-process.ts";
import { skip } from "../support/skip.ts";
import { isMissing } from "../support/system-programs.ts";

type Part = "keeper" | "service" | "logger" | "balancer";

type Home = {
  readonly folder: string;
  readonly state: string;
  readonly env: NodeJS.ProcessEnv;
  readonly ask: (...args: readonly string[]) => Promise<Outcome>;
};

/** A project with a cluster. Its file isn't needed by commands with `isNamed`. */
async function homeIn(context: TestContext, isNamed = false): Promise<Home> {
  const folder = mkdtempSync(join(tmpdir(), "procman-gone-"));
  const name = `gone-${process.pid}`;
  const state = join(folder, `.procman/${name}`);
  context.after(async () => {
    for (let keeper = keeperIn(state); keeper !== 0; keeper = keeperIn(state)) {
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    }
    // After a failure there may be a keeper whose lock is gone.
    for (const pid of parts({ folder })) process.kill(pid, "SIGKILL");
    removeFolder(folder);
  });
  const cluster = { instances: 1, startPort: await freeRange(), commonPort: await freePort() };
  const forever = { cmd: "exec sleep 1000", autostart: true, restart: "always" };
  const processes = [
    { ...forever, id: "web" },
    { ...forever, id: "pool", cluster },
  ];
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name, processes }));
  return {
    folder,
    state,
    env: { PROCMAN_TEST_HOME: folder },
    ask: (...args) => procman("/", [...args, ...(isNamed ? ["--name", name] : ["--config", folder])]),
  };
}

/** Pids of procman's own processes of this home. */
function parts({ folder }: Pick<Home, "folder">, part?: Part): readonly number[] {
  const own = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name) || !nameOf(Number(name)).startsWith(`procman: ${part ?? ""}`.slice(0, 15))) return false;
    return whileThere(() => readFileSync(`/proc/${name}/environ`, "latin1"))
      ?.split("\0")
      .includes(`PROCMAN_TEST_HOME=${folder}`);
  });
  return own.map(Number);
}

/** Kills the parts; resolves once each has a successor, and the service answers. */
async function replaced(home: Home, killed: readonly Part[]): Promise<void> {
  const before = killed.flatMap((part) => parts(home, part));
  for (const pid of before) process.kill(pid, "SIGKILL");
  for (const part of killed)
    await eventually(() => parts(home, part).find((pid) => !before.includes(pid) && isAlive(pid)), {
      what: `another ${part}`,
    });
}

async function webOf(home: Home): Promise<number | undefined> {
  for (const end = performance.now() + 30_000; ; ) {
    const { code, out, err } = await home.ask("status", "web", "--json");
    if (code === 0) return [JSON.parse(out) as ProcessRecord].flat()[0]?.pid;
    assert.ok(performance.now() < end, err);
  }
}

/** Kills all parts, alone and in pairs; then nothing but procman's parts is another process. */
async function survivesKills(home: Home): Promise<void> {
  const web = await webOf(home);
  assert.ok(web !== undefined);
  for (const killed of [
    ["service"],
    ["logger"],
    ["balancer"],
    ["keeper"],
    ["keeper", "service"],
    ["service", "logger"],
  ] as const) {
    await replaced(home, killed);
    assert.equal(await webOf(home), web, killed.join(" and "));
    for (const pid of parts(home))
      assert.equal(whileThere(() => readlinkSync(`/proc/${pid}/cwd`)) ?? "/", "/", nameOf(pid));
  }
  const { code, err } = await home.ask("upgrade");
  assert.equal(code, 0, err);
  assert.equal(await webOf(home), web);
  assert.match((await home.ask("restart", "web")).out, /^web: running/m);
  assert.equal((await home.ask("terminate")).code, 0);
  assert.deepEqual(parts(home), []);
}

/** procman may write there meanwhile. (Node's `maxRetries` removes the folder alone again, not what is new in it.) */
function removeFolder(folder: string): void {
  for (let tries = 1; ; tries++)
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || tries === 20) throw error;
    }
}

/** As a deployment does it. */
async function replaceFolder({ folder, state }: Home): Promise<void> {
  const copy = `${folder}.copy`;
  cpSync(join(folder, "procman.json"), join(copy, "procman.json"));
  removeFolder(folder);
  cpSync(copy, folder, { recursive: true });
  rmSync(copy, { recursive: true });
  await eventually(() => keeperIn(state) || undefined);
  await eventually(() => (existsSync(join(state, "endpoint.json")) ? true : undefined));
}

for (const args of [[], ["--detach"], ["--config", "procman.json"]])
  test(`the project of "procman ${["run", ...args].join(" ")}" is replaced`, async (context) => {
    const home = await homeIn(context);
    if (args.includes("--detach")) assert.equal((await procman(home.folder, ["run", ...args], home.env)).code, 0);
    else await new Procman(home.folder, { env: home.env, args }).line(/web +\| started/);
    await replaceFolder(home);
    await survivesKills(home);
  });

test("the folder in which procman was called, with the file and the state folder elsewhere by relative paths, is removed", async (context) => {
  const home = await homeIn(context);
  const release = `${home.folder}/release`;
  mkdirSync(release);
  const env = {
    ...home.env,
    PROCMAN_STATE_DIR: "../.procman",
    PROCMAN_CONFIG: "../procman.json",
    NODE_OPTIONS: "--require ./preload.cjs",
  };
  writeFileSync(join(release, "preload.cjs"), "");
  await new Procman(release, { env }).line(/web +\| started/);
  const web = await webOf(home);
  await replaced(home, ["keeper"]);
  assert.equal(await webOf(home), web);
  rmSync(release, { recursive: true });
  for (const part of ["service", "logger", "balancer"] as const) {
    await replaced(home, [part]);
    assert.equal(await webOf(home), web, part);
  }
});

test("the folder in which procman was called is removed: the file is elsewhere", async (context) => {
  const home = await homeIn(context);
  const release = mkdtempSync(join(tmpdir(), "procman-release-"));
  await new Procman(release, { env: home.env, args: ["--config", join(home.folder, "procman.json")] }).line(
    /web +\| started/,
  );
  rmSync(release, { recursive: true });
  await survivesKills(home);
});

test("the home folder is lazily unmounted, with the file and the state folder: every part comes back", async (context) => {
  if (isMissing(context, "unshare") || isMissing(context, "nsenter")) return;
  if (process.getuid?.() !== 0) return skip(context, "only root may make a mount namespace");
  const home = await homeIn(context, true);
  const content = readFileSync(join(home.folder, "procman.json"), "utf8");
  // In a mount namespace of its own.
  const start = 'mount -t tmpfs none "$0" && printf "%s" "$1" > "$0/procman.json" && cd "$0" && shift && exec "$@"';
  const launcher = ["unshare", "--mount", "sh", "-c", start, home.folder, content];
  const first = new Procman(home.folder, { env: home.env, launcher });
  await first.line(/web +\| started/);
  const inside = ["nsenter", "--mount", `--target=${first.pid}`];
  const web = childrenOf(first.pid).find((pid) => nameOf(pid) === "sleep");
  execFileSync(inside[0] ?? "", [...inside.slice(1), "umount", "--lazy", home.folder]);
  for (const killed of [["service"], ["logger"], ["balancer"], ["keeper"], ["service", "keeper"]] as const)
    await replaced(home, killed);
  assert.equal(await webOf(home), web);
  const { code, err } = await home.ask("terminate");
  assert.equal(code, 0, err);
  assert.deepEqual(parts(home), []);
});

/** `procman list`, and the names of procman's parts in `ps`: docs/reference/cli.md, "All that are running". */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ListedProcman } from "../../src/client/connection/procman-list.ts";
import { bootId, processStat } from "../../src/core/os/process-stat.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { folderOf, otherUser, runAs, sharedFolder, spawnAs } from "../support/other-user.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { eventually, Procman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const web = { id: "web", ...SLEEPER };

/** Other tests run procmans, too. */
async function listed(stateDir: string): Promise<ListedProcman | undefined> {
  const { code, out, err } = await procman("/", ["list", "--json"]);
  assert.deepEqual([code, err], [0, ""]);
  return (JSON.parse(out) as readonly ListedProcman[]).find((each) => each.stateDir === stateDir);
}

test("list shows the procmans of this user from any folder: files, pids, processes, and how many of these need attention", async (context) => {
  const { folder } = homeOf(context, [web, { id: "bad", cmd: "exit 3", autostart: true, restart: "never" }]);
  const root = join(folder, "elsewhere");
  const env = { PROCMAN_STATE_DIR: root };
  context.after(() => void procman(folder, ["terminate"], env));
  await procman(folder, ["run", "--detach"], env);
  const found = await listed(join(root, "test"));
  const {
    service = 0,
    keeper = 0,
    started = "",
    uptimeSeconds = -1,
    api,
    url,
    socket,
    version,
    user,
    ...rest
  } = found ?? ({} as Partial<ListedProcman>);
  assert.deepEqual(rest, {
    name: "test",
    status: "running",
    configFile: join(folder, "procman.json"),
    stateDir: join(root, "test"),
    processes: { total: 2, attention: 1 },
  });
  assert.equal(keeper, keeperIn(join(root, "test")));
  assert.ok(childrenOf(keeper).includes(service));
  assert.ok(uptimeSeconds >= 0 && Date.parse(started) <= Date.now() + 1_000);
  assert.deepEqual([url, socket], [`http://127.0.0.1:${api?.port}`, join(root, "test/run/api.sock")]);
  assert.ok(Number(api?.port) > 0 && version !== undefined && user !== undefined);
  const { out } = await procman("/", ["list"]);
  const row = out.split("\n").find((line) => line.includes(folder)) ?? "";
  assert.match(out, /^NAME +STATUS .*PID +SERVICE +UP +PROCESSES +ATTENTION +API +STATE FOLDER +FILE$/m);
  assert.match(
    row,
    new RegExp(
      `^test +running .*${keeper} +${service} .* 2 +1 +127\\.0\\.0\\.1:\\d+ +${root}/test +${folder}/procman\\.json$`,
    ),
  );
  assert.equal((await procman(folder, ["terminate"], env)).code, 0);
  assert.equal(await listed(join(root, "test")), undefined);
});

test("status --all shows the processes of every procman of this user, from any folder; of equal names the file tells which", async (context) => {
  const homes = [homeOf(context, [web]), homeOf(context, [{ ...web, id: "mail" }])] as const;
  for (const { folder } of homes) assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const [shop, post] = homes.map(({ folder }) => join(folder, "procman.json"));
  const { out } = await procman("/", ["status", "--all", "web", "mail"]);
  assert.match(out, /^NAME +ID +STATUS +PID /);
  assert.match(out, new RegExp(`^${shop} +web +running +\\d+ `, "m"));
  assert.match(out, new RegExp(`^${post} +mail +running +\\d+ `, "m"));
  const json = JSON.parse((await procman("/", ["status", "--all", "--json"])).out);
  const own = json.find(({ configFile }: { configFile: string }) => configFile === shop);
  assert.deepEqual(
    [own.name, own.stateDir, own.processes.map(({ id }: { id: string }) => id)],
    ["test", homes[0].state, ["web"]],
  );
  const both = await procman(homes[0].folder, ["status", "--all", "--name", "test"]);
  assert.deepEqual([both.code, /remove --all, or --config, --name and --host/.test(both.err)], [64, true]);
});

test("list says that a service doesn't answer, that procman ends, and that a killed keeper was not replaced", async (context) => {
  const { folder, state } = homeOf(context, [
    { ...web, cmd: "trap '' TERM; while :; do sleep 1; done", terminateTimeout: 60 },
  ]);
  const first = new Procman(folder, { args: ["--guarded"] });
  await first.line(/^web +\| started/);
  assert.equal((await procman(folder, ["status"])).code, 0);
  const service = first.helper("service");
  process.kill(service, "SIGSTOP");
  const hung = await listed(state);
  process.kill(service, "SIGCONT");
  assert.equal(hung?.status, "service-down");
  assert.match(hung?.problem ?? "", /its service is down: no answer from .* within 2 s/);
  assert.equal((await procman(folder, ["terminate", "--no-wait"])).code, 0);
  assert.equal((await listed(state))?.status, "terminating");
  process.kill(first.pid, "SIGKILL");
  assert.equal((await listed(state))?.status, "no-keeper");
  // Adopts the process, and ends it.
  const second = new Procman(folder);
  await second.line(/adopted/);
  assert.equal((await listed(state))?.status, "running");
  second.child.kill("SIGTERM");
  // Two signals at once may arrive as one.
  await second.line(/stopping everything/);
  second.child.kill("SIGTERM");
  await second.exit();
});

test("ps shows which procman each part belongs to, also of a part that was started again", async (context) => {
  const { folder } = homeOf(context, [
    { ...web, cluster: { instances: 1, startPort: await freePort(), commonPort: await freePort() } },
  ]);
  const running = new Procman(folder);
  await eventually(() => running.helperIfUp("balancer"));
  const titles = (): readonly string[] => childrenOf(running.pid).map((pid) => commandLineOf(pid).replaceAll("\0", ""));
  const all = ["balancer", "logger", "service"].map((part) => `procman[test]: ${part}`);
  const hasAll = (): true | undefined => (all.every((title) => titles().includes(title)) ? true : undefined);
  await eventually(hasAll);
  assert.equal(commandLineOf(running.pid).replaceAll("\0", ""), "procman[test]: keeper");
  for (const part of ["service", "logger"] as const) {
    const pid = running.helper(part);
    process.kill(pid, "SIGKILL");
    await eventually(() => (childrenOf(running.pid).includes(pid) ? undefined : hasAll()));
  }
});

test("root's list has the procmans of all users, and asks those of others nothing", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const folder = folderOf(user, join(sharedFolder(context), "shop"));
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "shop", processes: [web] }));
  const ask = (command: string, ...args: readonly string[]): ReturnType<typeof runAs> =>
    runAs(user, [process.execPath, BIN, command, ...args], { cwd: folder });
  assert.deepEqual((await ask("run", "--detach")).code, 0);
  const state = join(folder, ".procman/shop");
  const found = await listed(state);
  assert.deepEqual(
    [found?.user, found?.status, found?.configFile],
    ["nobody", "running", join(folder, "procman.json")],
  );
  assert.deepEqual([found?.keeper, found?.processes, found?.api], [keeperIn(state), undefined, undefined]);
  const own = JSON.parse((await ask("list", "--json")).out) as readonly ListedProcman[];
  assert.equal((await ask("terminate")).code, 0);
  assert.deepEqual(
    own.map((each) => [each.stateDir, each.processes?.total]),
    [[state, 1]],
  );
});

test("a program of another user with the title of a keeper can't keep root's list waiting, and isn't listed", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const state = folderOf(user, join(sharedFolder(context), "trap"));
  folderOf(user, join(state, "run"));
  const program = `require("fs").openSync("run/journal", "w"); process.title = "procman: keeper"; console.log("up"); setInterval(() => {}, 1e6)`;
  const child = spawnAs(context, user, [process.execPath, "-e", program], { cwd: state });
  if (child.stdout !== null) await once(child.stdout, "data");
  execFileSync("mkfifo", [join(state, "lock.1")]);
  assert.equal(await listed(state), undefined);
  rmSync(join(state, "lock.1"));
  const claim = {
    pid: child.pid,
    startTime: processStat(child.pid ?? 0)?.startTime,
    bootId: bootId(),
    file: "/x\u001b[31m/procman.json",
  };
  writeFileSync(join(state, "lock.1"), JSON.stringify(claim));
  // The folder and its lock may be the user's own: root only shows them, without control characters.
  assert.equal((await listed(state))?.user, "nobody");
  assert.match((await procman("/", ["list"])).out, /^trap +running +nobody .*\/x\\x1b\[31m\/procman\.json$/m);
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { bootId, processStat } from "../../src/core/os/process-stat.ts";
import { procman } from "../support/cli.ts";
import { folderOf, type OtherUser, otherUser, runAs, sharedFolder, spawnAs } from "../support/other-user.ts";
import { BIN } from "../support/product.ts";

const CONFIG = JSON.stringify({ processes: [{ id: "web", cmd: "sleep 600" }] });

/** What a lock or an endpoint says of a process. */
function identity(pid: number): object {
  return { pid, startTime: processStat(pid)?.startTime, bootId: bootId() };
}

function give({ uid, gid }: OtherUser, path: string): void {
  chownSync(path, uid, gid);
}

test("procman doesn't run in a state folder that another user has made, nor in one that another user may replace", async (context) => {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return;
  const folder = sharedFolder(context, nobody, daemon);
  writeFileSync(join(folder, "daemon/procman.json"), CONFIG);
  const shared = folderOf(nobody, join(folder, "nobody/state"), 0o777);
  const env = { PROCMAN_STATE_DIR: shared, HOME: join(folder, "daemon") };
  const run = [process.execPath, BIN, "run"];
  const replaceable = await runAs(daemon, run, { cwd: join(folder, "daemon"), env });
  assert.match(
    replaceable.err,
    /Cannot use the state folder \S+: \S+state belongs to the user nobody, who could replace it; set PROCMAN_STATE_DIR/,
  );
  assert.notEqual(replaceable.code, 0);
  folderOf(nobody, join(shared, "procman"), 0o777);
  for (const command of [
    run,
    [...run, "--detach"],
    [process.execPath, BIN, "status"],
    [process.execPath, BIN, "token", "--consumer", "x"],
  ]) {
    const { code, err } = await runAs(daemon, command, { cwd: join(folder, "daemon"), env });
    assert.match(
      err,
      /Cannot use the state folder \S+procman: it belongs to the user nobody, not to daemon; run this as the user nobody/,
      command.join(" "),
    );
    assert.notEqual(code, 0);
  }
  assert.deepEqual(readdirSync(join(shared, "procman")), []);
});

/** A folder of nobody in which a living process, and links in the place of procman's own files, were planted. */
function planted(
  context: TestContext,
  nobody: OtherUser,
  pid: number,
): { readonly cwd: string; readonly secret: string } {
  const folder = sharedFolder(context, nobody);
  const [cwd, secret] = [join(folder, "nobody"), join(folder, "secret")];
  writeFileSync(secret, "of root", { mode: 0o600 });
  writeFileSync(join(cwd, "procman.json"), CONFIG);
  const state = folderOf(nobody, join(cwd, ".procman/procman"), 0o755);
  give(nobody, join(cwd, ".procman"));
  writeFileSync(join(state, "lock.1"), JSON.stringify(identity(pid)), { mode: 0o644 });
  writeFileSync(
    join(state, "endpoint.json"),
    JSON.stringify({ ...identity(pid), keeper: pid, hostname: "127.0.0.1", port: 9, version: "1.0.0" }),
  );
  symlinkSync(secret, join(state, "upgrade.json"));
  symlinkSync(secret, join(state, "secret"));
  for (const name of readdirSync(state))
    if (name.endsWith("1") || name.endsWith("endpoint.json")) give(nobody, join(state, name));
  return { cwd, secret };
}

test("root's commands in the folder of another user sign no request, write no file and signal no process", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const child = spawn("sleep", ["600"]);
  const end = once(child, "exit");
  context.after(() => child.kill("SIGKILL"));
  const { cwd, secret } = planted(context, nobody, child.pid ?? 0);
  const commands = [
    ["status"],
    ["terminate"],
    ["upgrade"],
    ["token", "--consumer", "x"],
    ["token", "--rotate"],
    ["logs"],
    ["why", "web"],
    ["run"],
  ];
  for (const command of commands) {
    const { code, err } = await procman(cwd, command);
    assert.match(
      err,
      /Cannot use the state folder \S+: it belongs to the user nobody, not to root; run this as the user nobody/,
      command.join(" "),
    );
    assert.notEqual(code, 0, command.join(" "));
  }
  assert.equal(readFileSync(secret, "utf8"), "of root");
  assert.equal(child.signalCode, null);
  child.kill("SIGKILL");
  assert.deepEqual(await end, [null, "SIGKILL"]);
});

test("root's commands signal no keeper of another user, although root's own lock names it", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const folder = sharedFolder(context);
  const child = spawnAs(context, nobody, ["sh", "-c", "echo up; exec sleep 600"]);
  if (child.stdout !== null) await once(child.stdout, "data");
  writeFileSync(join(folder, "procman.json"), CONFIG);
  const state = join(folder, ".procman/procman");
  mkdirSync(state, { recursive: true });
  chmodSync(state, 0o700);
  writeFileSync(join(state, "lock.1"), JSON.stringify(identity(child.pid ?? 0)), { mode: 0o600 });
  for (const command of ["terminate", "upgrade"]) {
    const { code, err } = await procman(folder, [command]);
    assert.match(
      err,
      /Cannot reach procman: its keeper \(pid \d+\) belongs to the user nobody; run this as the user nobody/,
    );
    assert.notEqual(code, 0);
  }
  assert.equal(child.exitCode ?? child.signalCode, null);
  assert.ok(!existsSync(join(state, "secret")));
});

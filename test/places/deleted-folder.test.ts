/** Commands in a folder that was deleted: with an absolute `--config` they work, else they say in one line what is wrong. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SUMMARIES } from "../../src/cli/commands.ts";
import { homeOf, type Outcome } from "../support/cli.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const WEB = { id: "web", cmd: "exec sleep 1000", autostart: true };
const LINE = /^procman: Cannot use the current folder: it was removed.*--config \/PATH\/procman\.json\n$/;

/** In a new folder that the shell removes first. */
function inDeleted(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "procman-deleted-"));
  const command = ["-c", 'rmdir "$0" && exec "$@"', folder, process.execPath, BIN, ...args];
  return new Promise((resolve) => {
    execFile("/bin/sh", command, { cwd: folder, env: cleanEnvironment(env) }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

/** Arguments with which each command would do its work in a project. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  add: ["--", "sleep", "1"],
  append: ["--id", "job", "--cmd", "true"],
  attach: ["web"],
  block: ["web"],
  completion: ["bash"],
  deploy: ["/nowhere"],
  disable: ["web"],
  enable: ["web"],
  exec: ["web", "true"],
  export: ["--to", "systemd"],
  flush: ["--yes"],
  import: ["Procfile"],
  init: ["--id", "job", "--cmd", "true"],
  mcp: ["--print-skill"],
  remove: ["web"],
  restart: ["web"],
  scale: ["web", "2"],
  send: ["web", "y"],
  show: ["web"],
  signal: ["HUP", "web"],
  start: ["web"],
  stop: ["web"],
  token: ["--consumer", "ci"],
  unblock: ["web"],
  why: ["web"],
};

test("every command without an absolute --config says in one line that the folder was removed, or doesn't need one", async () => {
  for (const name of Object.keys(SUMMARIES)) {
    const needless = ["completion", "help", "host", "list", "mcp", "ports", "rollout", "schema", "version"].includes(
      name,
    );
    const { code, err } = await inDeleted([name, ...(ARGUMENTS[name] ?? [])]);
    if (!needless) assert.match(err, LINE, name);
    assert.ok(needless ? code !== 70 : code === 78, `${name}: ${code} ${err}`);
  }
  for (const args of [["status"], ["run"], ["run", "--detach"], ["init", "--id", "job", "--cmd", "true"]])
    for (const config of [["--config", "procman.json"], ["-c."]])
      assert.match((await inDeleted([...args, ...config])).err, LINE);
  const relative = await inDeleted(["status"], { PROCMAN_CONFIG: "procman.json" });
  assert.match(relative.err, LINE);
});

test("with an absolute --config, or PROCMAN_CONFIG, or by name, commands work", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const file = join(folder, "procman.json");
  const works = async (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> => {
    const { code, out, err } = await inDeleted(args, env);
    assert.equal(code, 0, `${args.join(" ")}: ${err}`);
    return out;
  };
  assert.match(await works(["validate", "--config", file]), /valid/);
  assert.match(await works(["run", "--detach", "--config", folder]), /^web +running/m);
  for (const args of [
    ["status"],
    ["list"],
    ["why", "web"],
    ["show", "web"],
    ["plan"],
    ["logs"],
    ["next"],
    ["reload"],
    ["history"],
    ["rollback", "active"],
    ["token", "--consumer", "ci"],
    ["upgrade"],
  ])
    await works(args[0] === "list" ? args : [...args, "--config", file]);
  assert.match(await works(["status"], { PROCMAN_CONFIG: folder }), /^web +running/m);
  assert.match(await works(["append", "--config", file, "--id", "job", "--cmd", "true"]), /job/);
  assert.match(await works(["dashboard", "--no-open", "--config", file]), /http/);
  assert.match(await works(["terminate", "--config", file]), /has ended/);
  mkdirSync(join(folder, "new"));
  assert.match(
    await works(["init", "--id", "a", "--cmd", "true", "--config", join(folder, "new/procman.json")]),
    /created/,
  );
  await works(["export", "--to", "systemd", "--config", file, "--output", join(folder, "new/units")]);
  rmSync(join(folder, "new"), { recursive: true });
});

test("procman run works there, too", async (context) => {
  const { folder } = homeOf(context, [{ id: "here", cmd: "pwd", autostart: true, logger: { console: true } }]);
  const { code, out, err } = await inDeleted(["run", "--once", "--config", join(folder, "procman.json")]);
  assert.equal(code, 0, err);
  assert.ok(out.includes(`| ${folder}\n`), out);
});

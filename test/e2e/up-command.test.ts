/** `procman up`, and the playbook of docs/guide/recipes.md. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { homeOf, type Outcome, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

function write(folder: string, processes: readonly object[]): void {
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
}

test("up starts procman, then applies changes, and says whether there were any", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const up = (...more: readonly string[]): Promise<Outcome> => procman(folder, ["up", "--exit-code", ...more]);
  const first = await up();
  assert.deepEqual([first.code, first.err], [2, ""]);
  assert.match(first.out, /^ID .*\nweb +running /);
  const again = await up();
  assert.deepEqual([again.code, again.err], [0, ""]);
  assert.match(again.out, /^Nothing has changed \(1 process\)\.\nID .*\nweb +running /);
  write(folder, [
    { id: "web", ...SLEEPER },
    { id: "mail", ...SLEEPER, ready: { exec: "test -e up" } },
  ]);
  const late = await up("--timeout", "1");
  assert.equal(late.code, 1);
  writeFileSync(join(folder, "up"), "");
  const ready = JSON.parse((await up("--json")).out);
  assert.deepEqual(
    [ready.started, ready.changed, ready.failed, ready.late, ready.processes.map(({ id }: { id: string }) => id)],
    [false, false, [], [], ["web", "mail"]],
  );
  write(folder, [{ id: "web", ...SLEEPER, cmd: "sleep 1001" }]);
  const changed = await up("--json");
  assert.deepEqual([changed.code, JSON.parse(changed.out).changed], [2, true]);
  assert.equal((await procman(folder, ["up"])).code, 0);
});

test("up ends with 1 when a process has failed, now or earlier, with the reason; one that was stopped by hand is no failure", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "bad", cmd: "echo no database >&2; exit 3", autostart: true, restart: "never" },
  ]);
  for (const what of ["start", "reload"]) {
    const { code, err } = await procman(folder, ["up", "--exit-code"]);
    assert.equal(code, 1, what);
    assert.match(err, /procman: Cannot start "bad": it exited with code 3/, what);
  }
  const { failed } = JSON.parse((await procman(folder, ["up", "--json"])).out);
  assert.deepEqual(failed, ["bad"]);
  write(folder, [{ id: "web", ...SLEEPER }]);
  assert.equal((await procman(folder, ["up", "--exit-code"])).code, 2);
  assert.equal((await procman(folder, ["stop", "web"])).code, 0);
  assert.equal((await procman(folder, ["up", "--exit-code"])).code, 0);
});

test("a process that isn't ready in time has failed, however long it takes to stop: up, run --detach --wait and start end with 1", async (context) => {
  const cmd = "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.05; done";
  const slow = { id: "web", cmd, autostart: true, restart: "never", ready: { exec: "false", timeout: 0.5 } } as const;
  const { folder } = homeOf(context, [slow]);
  const ends = async (...args: readonly string[]): Promise<void> => {
    const { code, out, err } = await procman(folder, args);
    assert.deepEqual(
      [code, /procman: Cannot start "web": it was not ready/.test(err)],
      [1, true],
      `${args}: ${out}${err}`,
    );
  };
  await ends("up");
  await ends("start", "web");
  await procman(folder, ["terminate"]);
  await ends("run", "--detach", "--wait");
  write(folder, [{ ...slow, restart: "always" }]);
  await ends("up");
});

test("up of an invalid file ends with 78 and changes nothing", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  assert.equal((await procman(folder, ["up"])).code, 0);
  write(folder, [{ id: "web" }]);
  assert.equal((await procman(folder, ["up"])).code, 78);
  assert.equal((await procman(folder, ["status", "web"])).code, 0);
});

type PlaybookTask = { readonly name: string; readonly "ansible.builtin.command": { readonly cmd: string } };

test("the playbook of the docs changes a host once, and nothing when it is played again", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }], { profiles: { production: {} } });
  const [, text = ""] = /```yaml\n(- hosts:[\s\S]*?)```/.exec(readFileSync("docs/guide/recipes.md", "utf8")) ?? [];
  const [{ tasks }] = parse(text) as readonly [{ readonly tasks: readonly PlaybookTask[] }];
  const play = async (): Promise<readonly number[]> => {
    const codes: number[] = [];
    for (const { "ansible.builtin.command": task } of tasks) codes.push(await shell(task.cmd, folder));
    return codes;
  };
  assert.deepEqual(await play(), [0, 2]);
  assert.deepEqual(await play(), [0, 0]);
});

/** `procman` is the one under test. */
function shell(line: string, cwd: string): Promise<number> {
  const define = `procman() { "${process.execPath}" "${BIN}" "$@"; }`;
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", `${define}; ${line}`], { cwd, env: cleanEnvironment() }, (error) =>
      resolve(error === null ? 0 : Number(error.code)),
    );
  });
}

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, isAlive } from "../../../../test/support/procman-process.ts";
import type { PluginLog } from "../../../core/plugins/plugin.ts";
import { command } from "./targets.ts";

function rig(context: TestContext, line: string, timeoutMs?: number) {
  const folder = mkdtempSync(join(tmpdir(), "procman-notify-"));
  const stop = new AbortController();
  context.after(() => {
    stop.abort();
    rmSync(folder, { recursive: true });
  });
  const logged: string[] = [];
  const add = (text: string): void => void logged.push(text);
  const log = { debug: add, info: add, warn: add, error: add } as unknown as PluginLog;
  const target = command(`cd ${folder}; ${line}`, { log, signal: stop.signal, name: "test" }, timeoutMs);
  const pids = (): readonly number[] =>
    existsSync(join(folder, "pids")) ? readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number) : [];
  return { target, stop, logged, pids };
}

const MESSAGE = { title: "web has crashed", text: "exited with code 1", happenings: [] };

test("a command that leaves a child behind has delivered its message when it ends, and the child is killed", async (context) => {
  const { target, pids } = rig(context, "sleep 54321 & echo $! >> pids; exit 0");
  for (let count = 1; count <= 3; count++) {
    assert.equal(await target(MESSAGE), true);
    assert.equal(pids().length, count);
  }
  for (const pid of pids()) await eventually(() => (isAlive(pid) ? undefined : true));
});

test("a command that hangs is killed with its children after the time limit, and tried again", async (context) => {
  const { target, stop, logged, pids } = rig(context, "sleep 54321 & echo $! >> pids; sleep 54321; true", 100);
  const delivered = target(MESSAGE);
  await eventually(() => (pids().length >= 2 ? true : undefined));
  stop.abort();
  await delivered;
  assert.match(logged.join("\n"), /it was killed after 0\.1 s/);
  for (const pid of pids()) await eventually(() => (isAlive(pid) ? undefined : true));
});

test("a command with a process that left its group delivers, too", async (context) => {
  const { target, pids } = rig(
    context,
    "setsid sh -c 'echo $$ >> pids; exec sleep 3' & while ! [ -s pids ]; do sleep 0.01; done",
  );
  context.after(() => {
    for (const pid of pids()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  assert.equal(await target(MESSAGE), true);
  assert.equal(isAlive(pids()[0] ?? 0), true);
});

/** Another user's processes with a run's `PROCMAN_RUN_ID`, against a procman of root. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RunMarkers } from "../../src/core/base/run-marker.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { uidsOf } from "../../src/core/os/process-stat.ts";
import { homeOf, procman } from "../support/cli.ts";
import { otherUser, spawnAs } from "../support/other-user.ts";
import { eventually, isAlive, Procman } from "../support/procman-process.ts";

const WEB = { id: "web", cmd: "exec sleep 601", autostart: true };

async function record(folder: string): Promise<ProcessRecord> {
  const { out } = await procman(folder, ["status", "web", "--json"]);
  const [found] = [JSON.parse(out)].flat() as ProcessRecord[];
  assert.ok(found !== undefined, out);
  return found;
}

/** As any user can write it with the path of the state folder. */
const forged = (state: string, run: number): NodeJS.ProcessEnv => ({
  PROCMAN_RUN_ID: new RunMarkers(state, "0".repeat(32)).of("web", run),
});

test("a process of another user is never taken for a run, neither at a first start nor after a crash", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  for (const crashed of [false, true]) {
    const { folder, state } = homeOf(context, [WEB]);
    if (crashed) {
      mkdirSync(join(state, "run"), { recursive: true });
      writeFileSync(join(state, "run/journal"), "");
    }
    const squatter = spawnAs(context, nobody, ["sleep", "777"], { env: forged(state, 1000) });
    await eventually(() => (uidsOf(squatter.pid ?? 0)?.real === nobody.uid ? true : undefined));
    const running = new Procman(folder, { args: ["--console"] });
    await running.line(/web .*started/);
    const { pid = 0, run } = await record(folder);
    assert.deepEqual([uidsOf(pid)?.real, run], [0, 1]);
    await running.stop();
    assert.ok(isAlive(squatter.pid ?? 0), "it isn't procman's to end");
  }
});

/** Holds this many bytes of memory. */
const holder = (bytes: number): string =>
  `globalThis.kept = Buffer.alloc(${bytes}, 1); console.log("up"); setInterval(() => 0, 1e6)`;

test("memory of another user's process doesn't count for a run", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const cmd = `while [ ! -e go ]; do sleep 0.05; done; exec node -e '${holder(30e6)}'`;
  const { folder, state } = homeOf(context, [
    { id: "web", cmd, autostart: true, restart: "always", memoryMax: "150MB" },
  ]);
  const running = new Procman(folder, { args: ["--console"] });
  await running.line(/web .*started/);
  const hungry = spawnAs(context, nobody, [process.execPath, "-e", holder(300e6)], { env: forged(state, 1) });
  await new Promise((resolve) => hungry.stdout?.once("data", resolve));
  writeFileSync(join(folder, "go"), "");
  // A sample that has what the run itself needs by now is younger than the other user's process.
  for (;;) {
    const { run, memoryBytes = 0 } = await record(folder);
    assert.equal(run, 1);
    assert.ok(memoryBytes < 150e6, String(memoryBytes));
    if (memoryBytes > 30e6) break;
  }
});

test("a killed keeper's successor adopts its own run, not a later one of another user", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const { folder, state } = homeOf(context, [WEB]);
  const running = new Procman(folder, { args: ["--console"] });
  await running.line(/web .*started/);
  const { pid = 0 } = await record(folder);
  const replacer = spawnAs(context, nobody, ["sleep", "778"], { env: forged(state, 5000) });
  await eventually(() => (uidsOf(replacer.pid ?? 0)?.real === nobody.uid ? true : undefined));
  process.kill(running.pid, "SIGKILL");
  await running.successor();
  assert.equal((await record(folder)).pid, pid);
  assert.equal((await procman(folder, ["stop", "web"])).code, 0);
  assert.ok(!isAlive(pid));
  assert.ok(isAlive(replacer.pid ?? 0));
  await running.stopHolder();
});

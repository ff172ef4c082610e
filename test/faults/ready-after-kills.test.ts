/** A run says that it is ready, or is about to, while parts of procman are killed or their records are lost: the next service learns of it. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { folderFor, pointsIn, startRig, successor } from "../support/fault-rig.ts";
import { freePort } from "../support/free-ports.ts";

/** A process of each kind. Each says once that it is ready. */
async function kinds(folder: string) {
  const port = await freePort();
  const program = join(folder, "ready.mjs");
  writeFileSync(program, 'process.send("ready");\nsetInterval(() => undefined, 1_000);\n');
  const server = `require("http").createServer((_, answer) => answer.end()).listen(${port}, "127.0.0.1")`;
  return [
    { id: "by-log", cmd: "echo serving; exec sleep 1000", ready: { log: "^serving$" } },
    { id: "by-fd", cmd: "echo >&3; exec sleep 1000", ready: { fd: 3 } },
    { id: "by-message", cmd: `${process.execPath} ${program}`, node: true, ready: { message: true } },
    { id: "by-port", cmd: `${process.execPath} -e '${server}'`, ready: { port } },
    { id: "by-command", cmd: "touch there; exec sleep 1000", ready: { exec: "test -e there" } },
  ].map((each) => ({ ...each, ready: { ...each.ready, timeout: 1_000 } }));
}

const POINTS = [
  "keeper.forked",
  "keeper.recorded",
  "service.decided",
  "service.sent",
] as const satisfies readonly Failpoint[];

describe("processes become ready after a kill at", { concurrency: 3 }, () => {
  for (const point of POINTS)
    test(point, async (context) => {
      const folder = folderFor(context as TestContext);
      const { env, arm, reached } = pointsIn(folder, [point]);
      const processes = await kinds(folder);
      const rig = await startRig(context as TestContext, folder, processes, { env });
      arm(point);
      for (const { id } of processes) await rig.act(id, "start");
      await reached(point);
      for (const { id } of processes) await rig.until(id, ({ ready }) => ready === true);
      assert.deepEqual(await rig.procman.end(), []);
    });
});

test("the run folder is emptied, and the keeper or everything is killed: what was ready is ready, and no process is restarted", async (context) => {
  const folder = folderFor(context);
  const processes = await kinds(folder);
  const rig = await startRig(
    context,
    folder,
    processes.map((each) => ({ ...each, autostart: true })),
  );
  const ready = () => Promise.all(processes.map(({ id }) => rig.until(id, (record) => record.ready === true)));
  const pids = (await ready()).map(({ pid }) => pid);
  for (const what of ["keeper", "everything"] as const) {
    const { keeper } = rig.procman.parts();
    const run = join(rig.procman.stateDir, "run");
    for (const name of readdirSync(run)) rmSync(join(run, name), { recursive: true });
    rig.killPart(what);
    if (what === "everything") rig.procman.start();
    await successor(rig.procman, "keeper", keeper);
    assert.deepEqual(
      (await ready()).map(({ pid }) => pid),
      pids,
      what,
    );
  }
  assert.deepEqual(await rig.procman.end(), []);
});

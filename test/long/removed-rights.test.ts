/** State folder, run folder, log folder and configuration lose their rights while procman runs and its parts are killed and upgraded. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { monotonicMs } from "../programs/run-diary.mjs";
import {
  type FaultRig,
  folderFor,
  printerAndCrasher,
  startRig,
  successor,
  waitForGrowth,
} from "../support/fault-rig.ts";
import { type OtherUser, otherUser, runAs } from "../support/other-user.ts";
import { eventually } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

type Place = {
  readonly path: (rig: FaultRig, folder: string) => string;
  /** What procman prints while the rights are missing, and when they are back; absent: nothing concerns it. */
  readonly lost?: RegExp;
  readonly back?: RegExp;
};

const PLACES: Readonly<Record<string, Place>> = {
  "state folder": {
    path: ({ procman }) => procman.stateDir,
    lost: /Cannot use .*EACCES.*; procman continues, but until it can, killing procman is not safe/,
    back: /can be used again: killing procman is safe again/,
  },
  "run folder": {
    path: ({ procman }) => join(procman.stateDir, "run"),
    lost: /Cannot use .*EACCES.*; procman continues, but until it can, killing procman is not safe/,
    back: /can be used again: killing procman is safe again/,
  },
  "log folder": {
    path: (_rig, folder) => join(folder, "logs"),
    lost: /Cannot write .*print\.log: permission denied/,
    back: /print\.log can be written again; no line was lost/,
  },
  configuration: { path: (_rig, folder) => join(folder, "procman.json") },
};

const UNREPLACED = /the keeper was killed, and its replacement could not be started: EACCES.*; procman tries again/;

const isUp = ({ status }: { readonly status: string }): boolean => status === "running";

type Started = { readonly rig: FaultRig; readonly folder: string };

/** Runs procman as another user: root has all rights. */
async function started(context: TestContext, user: OtherUser, folder = folderFor(context), env = {}): Promise<Started> {
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "logs"));
  execFileSync("chown", ["-R", user.name, folder]);
  const launcher = ["setpriv", "--reuid", `${user.uid}`, "--regid", `${user.gid}`, "--clear-groups", "--"];
  const rig = await startRig(context, folder, printerAndCrasher(folder), { launcher, env });
  execFileSync("chown", [user.name, join(folder, "procman.json")]);
  return { rig, folder };
}

/** Waits for a line printed since `from`. */
function printed(rig: FaultRig, from: number, line: RegExp): Promise<string> {
  return eventually(() =>
    rig
      .output()
      .slice(from)
      .find((each) => line.test(each)),
  );
}

for (const [name, { path, lost, back }] of Object.entries(PLACES))
  for (const part of ["service", "logger", "keeper"] as const)
    test(`the ${name} has no rights, and this is killed: ${part}. procman says why and continues, and no line is lost`, async (context) => {
      const user = otherUser(context);
      if (user === undefined) return;
      const { rig, folder } = await started(context, user);
      await waitForGrowth(rig, "print", 50_000);
      const { pid } = await rig.until("print", isUp);
      const place = path(rig, folder);
      const [mode, from] = [statSync(place).mode & 0o777, rig.output().length - 1];
      chmodSync(place, 0);
      if (lost !== undefined) await printed(rig, from, lost);
      const before = rig.procman.parts();
      rig.killPart(part);
      // Without records nothing can adopt the runs: the next keeper comes when the records can be read.
      const isAwaited = part === "keeper" && /state|run/.test(name);
      if (isAwaited) await printed(rig, from, UNREPLACED);
      else await successor(rig.procman, part, before[part]);
      // Other commands say it, too.
      if (name === "state folder") {
        const { code, err } = await runAs(user, [process.execPath, BIN, "status"], { cwd: folder });
        assert.match(err, /Cannot reach procman: .*may not be read/);
        assert.notEqual(code, 0);
      }
      chmodSync(place, mode);
      // A logger that was replaced tells the keeper of before, or has met no trouble itself.
      if (back !== undefined && !isAwaited && (part === "service" || name !== "log folder"))
        await printed(rig, from, back);
      if (isAwaited) await successor(rig.procman, "keeper", before.keeper);
      assert.equal((await rig.until("print", isUp)).pid, pid);
      await waitForGrowth(rig, "print", 50_000);
      const { run = 0 } = await rig.until("crash", isUp);
      await rig.until("crash", (record) => (record.run ?? 0) > run);
      const crashes = rig
        .output()
        .slice(from)
        .filter((line) => /^ {4}at |Node\.js v/.test(line));
      assert.deepEqual(crashes, [], "nothing of procman has crashed");
      assert.deepEqual(await rig.verdict({ loggersKilled: Number(part === "logger") }), []);
    });

test("the run folder has no rights, and the keeper is killed as it starts a run: what that run writes is not lost", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const folder = folderFor(context);
  const point = join(folder, "point");
  const { rig } = await started(context, user, folder, { PROCMAN_FAILPOINTS: `keeper.forked=${point}` });
  const { run = 0 } = await rig.until("crash", isUp);
  const place = join(rig.procman.stateDir, "run");
  const [mode, from] = [statSync(place).mode & 0o777, rig.output().length - 1];
  chmodSync(place, 0);
  // Each run gets the FIFOs that were drained last.
  await rig.until("crash", (record) => (record.run ?? 0) > run + 1);
  const [at, pids] = [monotonicMs(), rig.procman.parts().keeper];
  writeFileSync(point, "");
  await printed(rig, from, UNREPLACED);
  chmodSync(place, mode);
  await successor(rig.procman, "keeper", pids);
  const { run: next = 0 } = await rig.until("crash", isUp);
  await rig.until("crash", (record) => (record.run ?? 0) > next);
  assert.deepEqual(await rig.verdict({ kills: [{ what: "keeper", at, pids }] }), []);
});

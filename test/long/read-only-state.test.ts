/** A read-only bind mount is put over the state folder while procman runs (in a mount namespace of its procman), and its parts are killed. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import {
  folderFor,
  printerAndCrasher,
  startRig,
  successor,
  waitForGrowth,
  waitForOutput,
} from "../support/fault-rig.ts";
import { skip } from "../support/skip.ts";

const isUp = ({ status }: { readonly status: string }): boolean => status === "running";

test("the state folder becomes read-only, and service, logger and keeper are killed: each says why, nothing crashes, no line is lost", async (context) => {
  if (process.getuid?.() !== 0) return skip(context, "a mount namespace needs root");
  const folder = folderFor(context);
  const launcher = ["unshare", "--mount", "--propagation", "private", "--"];
  const rig = await startRig(context, folder, printerAndCrasher(folder), { launcher });
  const { procman } = rig;
  const { pid } = await rig.until("print", isUp);
  await waitForGrowth(rig, "print", 50_000);
  const inside = (...command: readonly string[]): Buffer =>
    execFileSync("nsenter", ["--mount", "--target", String(procman.parts().logger[0]), "--", ...command]);
  inside("mount", "--bind", procman.stateDir, procman.stateDir);
  inside("mount", "-o", "remount,bind,ro", procman.stateDir);
  for (const part of ["service", "logger"] as const) {
    const before = procman.parts()[part];
    rig.killPart(part);
    await successor(procman, part, before);
    await waitForGrowth(rig, "print", 50_000);
    // Before the logger is killed: what it has read and not shown would be lost.
    await waitForOutput(rig, /Cannot serve the API at .*EROFS/);
  }
  const { keeper } = procman.parts();
  rig.killPart("keeper");
  await waitForOutput(
    rig,
    /the keeper was killed, and its replacement could not be started: EROFS.*; procman tries again/,
  );
  inside("umount", "--lazy", procman.stateDir);
  await successor(procman, "keeper", keeper);
  assert.equal((await rig.until("print", isUp)).pid, pid);
  await waitForGrowth(rig, "print", 50_000);
  const { run = 0 } = await rig.until("crash", isUp);
  await rig.until("crash", (record) => (record.run ?? 0) > run);
  const crashes = rig.output().filter((line) => /^ {4}at |Node\.js v/.test(line));
  assert.deepEqual(crashes, [], "nothing of procman has crashed");
  assert.deepEqual(await rig.verdict({ loggersKilled: 1 }), []);
});

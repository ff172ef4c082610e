/** A running procman with a full disk under its state folder, without descriptors, with stopped processes or without its state folder. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import {
  type FaultRig,
  folderFor,
  program,
  startRig,
  successor,
  verdictWithoutJournal,
  waitForGrowth,
  waitForOutput,
} from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually, processExit } from "../support/procman-process.ts";
import { smallDisk } from "../support/skip.ts";
import { fill } from "./full-disk.ts";

/** How long a process is stopped by SIGSTOP: `PROCMAN_FAULT_MINUTES` makes it a minute. Milliseconds. */
const STILL_MS = process.env.PROCMAN_FAULT_MINUTES === undefined ? 4_000 : 60_000;

const isUp = ({ status }: ProcessRecord): boolean => status === "running";
const always = { autostart: true, restart: "always" };
const printer = (folder: string, more: object = {}) => ({
  id: "print",
  cmd: program(folder, "printer", "print", 60_000, 20),
  ...always,
  restartDelayMs: 100,
  logger: { stdout: "logs/print.log" },
  ...more,
});
const crasher = (folder: string) => ({
  id: "crash",
  cmd: program(folder, "crasher", "crash", 50, 200),
  ...always,
  restartDelayMs: 20,
  logger: { stdout: "logs/crash.log" },
});

/** How often `id` has been started. */
const runOf = async ({ records }: FaultRig, id: string): Promise<number> =>
  (await records()).find((each) => each.id === id)?.run ?? 0;

async function moreRuns(rig: FaultRig, id: string, count: number): Promise<void> {
  const before = await runOf(rig, id);
  await rig.until(id, ({ run = 0 }) => run >= before + count);
}

/** The log store would use up the space. */
function onDisk(context: TestContext, folder: string, disk: string): Promise<FaultRig> {
  const config = { logger: { internalLogHours: 0 } };
  return startRig(context, folder, [printer(folder), crasher(folder)], { config, env: { PROCMAN_STATE_DIR: disk } });
}

test("ENOSPC during a restart of the service: it reports that it can't be reached, and is reachable once there is room", async (context) => {
  const disk = smallDisk(context, "size=2m");
  if (disk === undefined) return;
  const folder = folderFor(context);
  const rig = await onDisk(context, folder, disk);
  const { pid } = await rig.until("print", isUp);
  const empty = fill(disk);
  rig.killPart("service");
  await waitForOutput(rig, /Cannot serve the API at .*ENOSPC/);
  await waitForGrowth(rig, "print");
  empty();
  assert.equal((await rig.until("print", isUp)).pid, pid);
  await moreRuns(rig, "crash", 2);
  assert.deepEqual(await verdictWithoutJournal(rig), []);
});

test("ENOSPC in the state folder is reported once, supervision and output continue; with room again procman survives kills", async (context) => {
  const disk = smallDisk(context, "size=2m");
  if (disk === undefined) return;
  const folder = folderFor(context);
  const rig = await onDisk(context, folder, disk);
  await waitForGrowth(rig, "print");
  const empty = fill(disk);
  await moreRuns(rig, "crash", 5);
  await waitForGrowth(rig, "print");
  const { pid = 0 } = await rig.until("print", isUp);
  await waitForOutput(rig, /Cannot write .*journal: .*ENOSPC.*procman continues/);
  assert.equal(rig.output().filter((line) => /Cannot write .*journal/.test(line)).length, 1, "reported once");
  empty();
  await waitForOutput(rig, /journal can be written again/);
  await moreRuns(rig, "crash", 3);
  const before = rig.procman.parts().keeper;
  rig.killPart("keeper");
  await successor(rig.procman, "keeper", before);
  assert.equal((await rig.until("print", isUp)).pid, pid, "adopted by the rewritten journal");
  await moreRuns(rig, "crash", 2);
  assert.deepEqual(await verdictWithoutJournal(rig), []);
});

test("EFBIG (a limit on the size of files): it is reported once, parts that are killed come back, and no line is lost once there is room", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder), crasher(folder)]);
  const { pid } = await rig.until("print", isUp);
  await waitForGrowth(rig, "print");
  const limit = (bytes: number | "unlimited"): void => {
    for (const part of Object.values(rig.procman.parts()).flat())
      execFileSync("prlimit", ["--pid", String(part), `--fsize=${bytes}:`]);
  };
  limit(250_000);
  const why = /Cannot write \S*print\.log: file too large/;
  await waitForOutput(rig, why);
  for (const part of ["service", "keeper"] as const) {
    const before = rig.procman.parts()[part];
    rig.killPart(part);
    await successor(rig.procman, part, before);
    await rig.records();
  }
  await moreRuns(rig, "crash", 2);
  assert.equal(rig.output().filter((line) => why.test(line)).length, 1, "reported once");
  limit("unlimited");
  await waitForGrowth(rig, "print");
  assert.equal((await rig.until("print", isUp)).pid, pid);
  assert.deepEqual(
    rig.output().filter((line) => /^ {4}at |Node\.js v/.test(line)),
    [],
  );
  assert.deepEqual(await rig.verdict(), []);
});

test("EMFILE at run time: a process that can't be restarted says why and restarts when descriptors are free; others aren't affected", async (context) => {
  const folder = folderFor(context);
  const steady = {
    id: "print-steady",
    cmd: program(folder, "printer", "print-steady", 5_000, 20),
    ...always,
    logger: { stdout: "logs/print-steady.log" },
  };
  const rig = await startRig(context, folder, [printer(folder), steady]);
  await waitForGrowth(rig, "print");
  const [keeper = 0] = rig.procman.parts().keeper;
  const limit = (files: number): Buffer => execFileSync("prlimit", ["--pid", String(keeper), `--nofile=${files}:`]);
  limit(readdirSync(`/proc/${keeper}/fd`).length);
  kill((await rig.until("print", isUp)).pid ?? 0, "SIGKILL");
  await rig.until("print", ({ reason }) => /EMFILE/.test(reason));
  const { pid } = await rig.until("print-steady", isUp);
  await waitForGrowth(rig, "print-steady", 20_000);
  limit(4096);
  await rig.until("print", isUp);
  assert.equal((await rig.until("print-steady", isUp)).pid, pid);
  await waitForGrowth(rig, "print");
  assert.deepEqual(await rig.verdict(), []);
});

for (const part of ["keeper", "service", "logger"] as const)
  test(`SIGSTOP of the ${part} for ${STILL_MS / 1_000} s: after SIGCONT everything continues, and no line and no exit is lost`, async (context) => {
    const folder = folderFor(context);
    const rig = await startRig(context, folder, [printer(folder), crasher(folder)]);
    await waitForGrowth(rig, "print");
    const { pid } = await rig.until("print", isUp);
    const [stopped = 0] = rig.procman.parts()[part];
    kill(stopped, "SIGSTOP");
    await sleep(STILL_MS);
    kill(stopped, "SIGCONT");
    await waitForGrowth(rig, "print");
    assert.equal((await rig.until("print", isUp)).pid, pid);
    await moreRuns(rig, "crash", 5);
    assert.deepEqual(await rig.verdict(), []);
    assert.equal([...rig.procman.journal.ends.values()].filter(({ unknown }) => unknown).length, 0);
  });

for (const what of ["run", "."] as const)
  test(`${what === "run" ? "the run folder" : "the whole state folder"} is deleted while procman runs: it is created again, nothing is lost, and procman survives kills`, async (context) => {
    const folder = folderFor(context);
    const rig = await startRig(context, folder, [printer(folder), crasher(folder)]);
    await waitForGrowth(rig, "print");
    const { pid } = await rig.until("print", isUp);
    rmSync(join(rig.procman.stateDir, what), { recursive: true, maxRetries: 10 });
    await waitForOutput(rig, /was removed; procman has recreated it/);
    await waitForGrowth(rig, "print");
    await moreRuns(rig, "crash", 3);
    const before = rig.procman.parts().keeper;
    rig.killPart("keeper");
    await successor(rig.procman, "keeper", before);
    assert.equal((await rig.until("print", isUp)).pid, pid);
    await waitForGrowth(rig, "print");
    assert.deepEqual(await rig.verdict(), []);
  });

test("the state folder is deleted and the keeper killed at once: the logger hands over to that of the next keeper, no line is lost", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder, { restart: "error" })]);
  for (let round = 0; round < 3; round += 1) {
    await waitForGrowth(rig, "print");
    const { pid } = await rig.until("print", isUp);
    const before = rig.procman.parts().keeper;
    rmSync(rig.procman.stateDir, { recursive: true, maxRetries: 10 });
    rig.killPart("keeper");
    await successor(rig.procman, "keeper", before);
    assert.equal((await rig.until("print", isUp)).pid, pid);
    await waitForGrowth(rig, "print");
    await eventually(() => (rig.procman.parts().logger.length === 1 ? true : undefined));
  }
  assert.deepEqual(await rig.verdict(), []);
});

test("the state folder is deleted and procman killed at once: the next procman finds the processes and where their output goes", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder)]);
  await waitForGrowth(rig, "print");
  const { pid } = await rig.until("print", isUp);
  rmSync(rig.procman.stateDir, { recursive: true, maxRetries: 10 });
  for (const each of rig.killPart("everything")) await processExit(each);
  // A part that was killed a moment after the keeper may have started another one.
  await rig.procman.revive(500);
  assert.equal((await rig.until("print", isUp)).pid, pid);
  await waitForGrowth(rig, "print");
  assert.deepEqual(await rig.verdict({ loggersKilled: 1 }), []);
  assert.match(readFileSync(join(folder, "logs/print.log"), "latin1"), /the logger was restarted here/);
});

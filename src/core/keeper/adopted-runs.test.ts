import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { keyOf } from "../ipc/logger-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import { AdoptedRuns } from "./adopted-runs.ts";

/** An own process that counts as adopted. */
function adoptedProcess(context: TestContext, runs: AdoptedRuns, slot: string): ChildProcess {
  const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  context.after(() => child.kill("SIGKILL"));
  const { pid = 0 } = child;
  runs.add({ slot, run: 1, pid, startTime: processStat(pid)?.startTime ?? "", since: 0 });
  return child;
}

function adopting(): readonly [AdoptedRuns, string[]] {
  const ended: string[] = [];
  return [new AdoptedRuns(({ slot }) => ended.push(slot)), ended];
}

test("when the output of an adopted run has ended, that run is looked at, and no other", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const [runs, ended] = adopting();
  const processes = ["a", "b", "c", "d"].map((slot) => adoptedProcess(context, runs, slot));
  for (const process of processes.slice(0, 3)) process.kill("SIGKILL");
  await Promise.all(processes.slice(0, 3).map((process) => once(process, "exit")));
  for (const slot of ["a", "b", "d", "unknown"]) runs.outputEnded(keyOf({ slot, run: 1 }));
  assert.deepEqual(ended, [], "all of one turn together");
  await setImmediate();
  assert.deepEqual(ended, ["a", "b"], "c is for the next look at all; d runs on without output");
});

test("after a sign that some may end, those that have ended are soon known, however many there are", async (context) => {
  const [runs, ended] = adopting();
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const web = adoptedProcess(context, runs, "web");
  const { pid, startTime = "" } = processStat(process.pid) ?? assert.fail();
  for (let run = 1; run <= 3_000; run++) runs.add({ slot: "other", run, pid, startTime, since: 0 });
  // The looks are 3 s apart by now.
  for (let ms = 100; ms < 10_000; ms *= 2) context.mock.timers.tick(ms);
  web.kill();
  runs.lookSoon();
  await once(web, "exit");
  context.mock.timers.tick(50);
  runs.lookSoon();
  context.mock.timers.tick(49);
  assert.deepEqual(ended, []);
  context.mock.timers.tick(1);
  assert.deepEqual(ended, ["web"], "a later call does not postpone it");
});

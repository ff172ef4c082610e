import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExitedReport, FailedReport, RunKey } from "../ipc/keeper-protocol.ts";
import { keyOf } from "../ipc/logger-protocol.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import { Children } from "./children.ts";

test("while runs are held nothing is started; then everything, in order", async () => {
  const started: string[] = [];
  const children = new Children(
    { fifos: {}, cgroups: { within: () => assert.fail("no run is to be forked") }, sockets: {}, deferred: {} } as never,
    { starting: ({ slot }: RunKey) => started.push(slot), failed: () => undefined } as never,
  );
  const request = (slot: string) => ({ slot, run: 1, argv: ["true"], cwd: "/", env: {} }) as never;
  children.hold();
  for (const slot of ["db", "web"]) children.spawn(request(slot));
  await setImmediate();
  assert.deepEqual(started, []);
  children.release();
  // One at a time, if the machine is slow.
  while (started.length < 2) await setImmediate();
  assert.deepEqual(started, ["db", "web"]);
  children.spawn(request("late"));
  while (started.length < 3) await setImmediate();
  assert.deepEqual(started, ["db", "web", "late"], "a later one isn't held");
});

test("a working directory that can't even be looked up is a failed start, and no error of the keeper", async () => {
  const failed: FailedReport[] = [];
  const children = new Children(
    { fifos: {}, cgroups: { within: (_: unknown, start: () => unknown) => start() }, sockets: {}, deferred: {} } as never,
    { starting: () => undefined, failed: (report: FailedReport) => failed.push(report) } as never,
  );
  children.spawn({ slot: "web", run: 1, argv: ["true"], cwd: "/tmp\0", env: {} });
  while (failed.length === 0) await setImmediate();
  assert.deepEqual(
    failed.map(({ slot, run, step }) => [slot, run, step]),
    [["web", 1, "cwd"]],
  );
});

for (const how of ["signal", "signalAll"] as const)
  test(`${how}: another process that has the pid of an adopted run gets no signal`, async (context) => {
    const innocent = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
    context.after(() => innocent.kill("SIGKILL"));
    const { pid = 0 } = innocent;
    const exited: ExitedReport[] = [];
    const children = new Children(
      { fifos: {}, cgroups: { endOf: () => ({}) }, sockets: {}, deferred: {} } as never,
      { exited: (report: ExitedReport) => exited.push(report) } as never,
    );
    children.adopt({ slot: "web", run: 3, pid, startTime: "1", since: 0 });
    const { startTime = "" } = processStat(pid) ?? {};
    if (how === "signal") children.signal({ slot: "web", run: 3 }, "SIGKILL");
    else children.signalAll("SIGKILL");
    assert.ok(isAlive(pid, startTime));
    children.checkAdopted();
    assert.deepEqual(
      exited.map(({ slot, run, unknown }) => [slot, run, unknown]),
      [["web", 3, true]],
    );
    children.adopt({ slot: "web", run: 4, pid, startTime, since: 0 });
    const ended = once(innocent, "exit");
    children.signal({ slot: "web", run: 4 }, "SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"], "its own process gets the signal");
    children.checkAdopted();
  });

/** An own process that counts as adopted. */
function adoptedProcess(context: TestContext, children: Children, slot: string): ChildProcess {
  const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  context.after(() => child.kill("SIGKILL"));
  const { pid = 0 } = child;
  children.adopt({ slot, run: 1, pid, startTime: processStat(pid)?.startTime ?? "", since: 0 });
  return child;
}

function adopting(): readonly [Children, string[]] {
  const ended: string[] = [];
  const ports = { fifos: {}, cgroups: { endOf: () => ({}) }, sockets: {}, deferred: {} };
  return [new Children(ports as never, { exited: ({ slot }: ExitedReport) => ended.push(slot) } as never), ended];
}

test("when the output of an adopted run has ended, that run is looked at, and no other", async (context) => {
  const [children, ended] = adopting();
  const processes = ["a", "b", "c", "d"].map((slot) => adoptedProcess(context, children, slot));
  for (const process of processes.slice(0, 3)) process.kill("SIGKILL");
  await Promise.all(processes.slice(0, 3).map((process) => once(process, "exit")));
  for (const slot of ["a", "b", "d", "unknown"]) children.outputEnded(keyOf({ slot, run: 1 }));
  assert.deepEqual(ended, [], "all of one turn together");
  await setImmediate();
  assert.deepEqual(ended, ["a", "b"], "c is for the next check of all; d runs on without output");
});

test("an adopted run that is signalled is soon known to have ended, however many there are", async (context) => {
  const [children, ended] = adopting();
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const web = adoptedProcess(context, children, "web");
  adoptedProcess(context, children, "db");
  const { pid, startTime = "" } = processStat(process.pid) ?? assert.fail();
  for (let run = 1; run <= 3_000; run++) children.adopt({ slot: "other", run, pid, startTime, since: 0 });
  // The checks are 3 s apart by now.
  for (let ms = 100; ms < 10_000; ms *= 2) context.mock.timers.tick(ms);
  children.signal({ slot: "web", run: 1 }, "SIGTERM");
  await once(web, "exit");
  context.mock.timers.tick(50);
  children.signal({ slot: "db", run: 1 }, "SIGCONT");
  context.mock.timers.tick(49);
  assert.deepEqual(ended, []);
  context.mock.timers.tick(1);
  assert.deepEqual(ended, ["web"], "a later signal doesn't postpone the check");
});

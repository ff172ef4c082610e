import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExitedReport, FailedReport, RunKey } from "../ipc/keeper-protocol.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import { Children, RestartOrders } from "./children.ts";

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
    {
      fifos: {},
      cgroups: { within: (_: unknown, start: () => unknown) => start() },
      sockets: {},
      deferred: {},
    } as never,
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
    children.adopted.check();
    assert.deepEqual(
      exited.map(({ slot, run, unknown }) => [slot, run, unknown]),
      [["web", 3, true]],
    );
    children.adopt({ slot: "web", run: 4, pid, startTime, since: 0 });
    const ended = once(innocent, "exit");
    children.signal({ slot: "web", run: 4 }, "SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"], "its own process gets the signal");
    children.adopted.check();
  });

test("a signalled run is soon known to have ended, however many are adopted", async (context) => {
  const process = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  context.after(() => process.kill("SIGKILL"));
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const exited: ExitedReport[] = [];
  const children = new Children(
    { fifos: {}, cgroups: { endOf: () => ({}) }, sockets: {}, deferred: {} } as never,
    { exited: (report: ExitedReport) => exited.push(report) } as never,
  );
  const { startTime = "" } = processStat(process.pid ?? 0) ?? {};
  for (let run = 1; run <= 400; run++) children.adopt({ slot: "web", run, pid: process.pid ?? 0, startTime, since: 0 });
  for (let ms = 100; ms < 1_000; ms *= 2) context.mock.timers.tick(ms);
  children.signal({ slot: "web", run: 1 }, "SIGTERM");
  await once(process, "exit");
  context.mock.timers.tick(100);
  assert.equal(exited.length, 400);
});

const REQUEST = { slot: "web", run: 2, argv: ["true"], cwd: "/", env: {} };

function after(
  wanted: "any-end" | "failure",
  end: { readonly run?: number; readonly code?: number | null; readonly survivors?: boolean },
): number | undefined {
  const prepared = new RestartOrders();
  prepared.add({ ...REQUEST, after: wanted });
  return prepared.after({ slot: "web", run: 1, code: 0, survivors: false, ...end })?.run;
}

test("2.2 a restart order applies after every end of the run before it, or after every failure", () => {
  assert.deepEqual([after("any-end", {}), after("any-end", { code: 1 }), after("any-end", { code: null })], [2, 2, 2]);
  assert.deepEqual(
    [after("failure", {}), after("failure", { code: 1 }), after("failure", { code: null })],
    [undefined, 2, 2],
  );
});

test("2.2 no restart order applies after a run that has left processes behind, nor after another run", () => {
  assert.deepEqual(
    [after("any-end", { survivors: true }), after("any-end", { run: 2 }), after("any-end", { run: 0 })],
    [undefined, undefined, undefined],
  );
});

test("2.2 a restart order is used once, and can be cancelled", () => {
  const prepared = new RestartOrders();
  const end = { slot: "web", run: 1, code: 1, survivors: false };
  prepared.add({ ...REQUEST, after: "any-end" });
  assert.deepEqual(prepared.after(end), REQUEST);
  assert.equal(prepared.after(end), undefined);
  prepared.add({ ...REQUEST, after: "any-end" });
  prepared.cancel({ slot: "web", run: 1 });
  prepared.cancel({ slot: "api", run: 2 });
  assert.deepEqual(prepared.after(end), REQUEST);
  for (const takeBack of [() => prepared.cancel(REQUEST), () => prepared.clear()]) {
    prepared.add({ ...REQUEST, after: "any-end" });
    takeBack();
    assert.equal(prepared.after(end), undefined);
  }
});

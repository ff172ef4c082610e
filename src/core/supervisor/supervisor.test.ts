import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { ProcessDefinition } from "./definition.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { Policy } from "./restart-policy.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import { Supervisor } from "./supervisor.ts";

function setup(
  definition: Partial<ProcessDefinition> & { readonly rules?: Partial<Policy> } = {},
  snapshot?: ProcessSnapshot,
) {
  const { rules, ...rest } = definition;
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const notices: ProcessEvent[] = [];
  const moves: string[] = [];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: ({ from, to }) => moves.push(`${from.status} ${to.status}`),
    notice: (_id, notice) => notices.push(notice),
    removed: () => undefined,
  });
  const definitions = [{ id: "web", policy: { ...POLICY, ...rules }, autostart: true, overrun: false, ...rest }];
  supervisor.resume(definitions, snapshot === undefined ? new Map() : new Map([["web", snapshot]]));
  supervisor.apply(definitions);
  const process = supervisor.find("web");
  return { clock, spawner, notices, moves, supervisor, process, state: () => process.states[0] };
}

test("2.2 autostart: the process is started with the service", () => {
  const { spawner, moves } = setup();
  spawner.up("web");
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
  assert.deepEqual(moves, ["idle starting", "starting running"]);
});

test("2.2 without a start policy the process never starts", () => {
  const { spawner } = setup({ autostart: false });
  assert.deepEqual(spawner.takeRequests(), []);
});

test("2.2 restart: the first restart is immediate, the next ones come after 100 ms doubling to 30 s", () => {
  const { spawner, clock } = setup();
  spawner.up("web");
  spawner.exit("web", 1);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "spawn web 2"]);
  for (const delay of [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]) {
    spawner.up("web");
    spawner.exit("web", 1);
    clock.advance(delay - 1);
    assert.deepEqual(spawner.takeRequests(), [], `before ${delay} ms`);
    clock.advance(1);
    assert.equal(spawner.takeRequests().length, 1, `after ${delay} ms`);
  }
});

test("2.2 restart: a run of restartResetMs resets count and delay", () => {
  const { spawner, clock, state } = setup();
  for (let run = 0; run < 3; run++) {
    spawner.up("web");
    spawner.exit("web", 1);
    clock.advance(10_000);
  }
  spawner.up("web");
  clock.advance(60_000);
  spawner.takeRequests();
  spawner.exit("web", 1);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 5"]);
  assert.equal(state()?.restarts, 1);
});

test("2.2 restartDelayMs: a configured delay is fixed", () => {
  const { spawner, clock } = setup({ rules: { restartDelayMs: 700 } });
  for (let run = 2; run < 6; run++) {
    spawner.up("web");
    spawner.takeRequests();
    spawner.exit("web", 1);
    clock.advance(699);
    assert.deepEqual(spawner.takeRequests(), []);
    clock.advance(1);
    assert.deepEqual(spawner.takeRequests(), [`spawn web ${run}`]);
  }
});

test("2.2 restartLimit: beyond it the process is exhausted, and a manual start resets the count", () => {
  const { spawner, state, process } = setup({ rules: { restartLimit: 2, restartDelayMs: 0 } });
  for (let run = 0; run < 3; run++) {
    spawner.up("web");
    spawner.exit("web", 3);
  }
  const exhausted = state();
  assert.ok(exhausted?.status === "idle" && exhausted.outcome.kind === "exhausted");
  assert.deepEqual(exhausted.outcome.ending, { kind: "exited", code: 3, signal: null });
  process.start();
  assert.equal(state()?.restarts, 0);
  assert.deepEqual(spawner.takeRequests().at(-1), "spawn web 4");
});

test("2.2 restart error: code 0 is not an error; a signal is one", () => {
  const clean = setup();
  clean.spawner.up("web");
  clean.spawner.exit("web", 0);
  assert.equal(clean.state()?.status, "idle");
  const killed = setup();
  killed.spawner.up("web");
  killed.spawner.end("web", { kind: "exited", code: null, signal: "SIGKILL" });
  assert.equal(killed.state()?.status, "starting");
});

test("2.2 restart error: an exit code or signal of successExitCodes is not an error, unless memory ran out; changed ones apply to the present run", () => {
  const killed = { kind: "exited", code: null, signal: "SIGTERM" } as const;
  for (const [ending, outcome] of [
    [{ kind: "exited", code: 3, signal: null }, "finished"],
    [killed, "finished"],
    [{ ...killed, outOfMemory: true }, undefined],
    [{ kind: "exited", code: 4, signal: null }, undefined],
    [{ kind: "exited", code: 0, signal: null }, "finished"],
    [{ kind: "unknown" }, undefined],
  ] as const) {
    const { spawner, state, supervisor } = setup();
    spawner.up("web");
    supervisor.apply(
      [{ id: "web", policy: { ...POLICY, successExitCodes: [3, "SIGTERM"] }, autostart: true, overrun: false }],
      new Map([["web", { fields: ["successExitCodes"], restart: false }]]),
    );
    spawner.end("web", ending);
    const after = state();
    assert.equal(after?.status === "idle" ? after.outcome.kind : undefined, outcome, JSON.stringify(ending));
  }
});

test("2.2 restart always: restarts after code 0, but not after an operator's stop", () => {
  const { spawner, process, state } = setup({ rules: { restart: "always", restartDelayMs: 0 } });
  spawner.up("web");
  spawner.exit("web", 0);
  spawner.up("web");
  process.stop();
  spawner.end("web", { kind: "exited", code: 143, signal: null });
  spawner.swept("web");
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "spawn web 2", "SIGTERM web 2", "sweep SIGTERM web 2"]);
  assert.ok(state()?.status === "idle");
});

test("2.2 terminateTimeout counts from SIGTERM, after the grace period, at whose start a worker is asked to finish", () => {
  const { spawner, process, clock } = setup({ rules: { graceMs: 5_000, terminateMs: 2_000 } });
  spawner.up("web");
  spawner.takeRequests();
  process.stop();
  assert.deepEqual(spawner.takeRequests(), ["drain web 1"]);
  clock.advance(4_999);
  assert.deepEqual(spawner.takeRequests(), []);
  clock.advance(1);
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 1"]);
  clock.advance(1_999);
  assert.deepEqual(spawner.takeRequests(), []);
  clock.advance(1);
  assert.deepEqual(spawner.takeRequests(), ["SIGKILL web 1"]);
});

test("a stop begins with the policy's signal, with and without a grace period; leftover children get SIGTERM", () => {
  for (const graceMs of [0, 5_000]) {
    const { spawner, process, clock } = setup({ rules: { graceMs, terminateMs: 2_000, stopSignal: "SIGQUIT" } });
    spawner.up("web");
    spawner.takeRequests();
    process.stop();
    if (graceMs > 0) assert.deepEqual(spawner.takeRequests(), ["drain web 1"]);
    clock.advance(graceMs);
    assert.deepEqual(spawner.takeRequests(), ["SIGQUIT web 1"]);
    clock.advance(2_000);
    assert.deepEqual(spawner.takeRequests(), ["SIGKILL web 1"]);
  }
});

test('killMode "leader": the stop signal goes to the leader alone; what it leaves behind and the rest of the group are ended after', () => {
  const { spawner, process, clock } = setup({ rules: { graceMs: 1_000, terminateMs: 2_000, killMode: "leader" } });
  spawner.up("web");
  spawner.takeRequests();
  process.stop();
  clock.advance(1_000);
  assert.deepEqual(spawner.takeRequests(), ["drain web 1", "SIGTERM web 1 to the leader"]);
  spawner.end("web", { kind: "exited", code: 0, signal: null }, true);
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGTERM web 1"]);
  spawner.swept("web");
  process.start();
  spawner.up("web");
  process.stop();
  clock.advance(3_000);
  assert.deepEqual(spawner.takeRequests().slice(-2), ["SIGTERM web 2 to the leader", "SIGKILL web 2"]);
});

test("2.2 stop: children left behind by the leader get SIGTERM, and SIGKILL after the timeout", () => {
  const { spawner, process, clock, state } = setup({ rules: { terminateMs: 2_000 } });
  spawner.up("web");
  process.stop();
  clock.advance(500);
  spawner.exit("web", 0);
  assert.deepEqual(spawner.takeRequests().slice(1), ["SIGTERM web 1", "sweep SIGTERM web 1"]);
  clock.advance(1_500);
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGKILL web 1"]);
  assert.equal(state()?.status, "stopping");
  spawner.swept("web");
  assert.equal(state()?.status, "idle");
});

test("2.2 after a crash that leaves children behind, the restart waits until they have exited", () => {
  const { spawner } = setup();
  spawner.up("web");
  spawner.takeRequests();
  spawner.end("web", { kind: "exited", code: null, signal: "SIGSEGV" }, true);
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGTERM web 1"]);
  spawner.swept("web");
  assert.deepEqual(spawner.takeRequests(), ["spawn web 2"]);
});

test("2.2 timeout: a run that exceeds its timeout counts as failed", () => {
  const { spawner, clock, state } = setup({ rules: { timeoutMs: 1_000, restart: "error", restartDelayMs: 50 } });
  spawner.up("web");
  clock.advance(1_000);
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.equal(state()?.status, "backoff");
});

test("2.2 terminate: with restart error it stays stopped, with always it is restarted", () => {
  const every = { terminate: "0 * * * *" };
  const error = setup({ ...every, rules: { restart: "error" } });
  error.spawner.up("web");
  error.clock.advance(3_600_000);
  error.spawner.end("web", { kind: "exited", code: null, signal: "SIGTERM" });
  error.spawner.swept("web");
  const idle = error.state();
  assert.ok(idle?.status === "idle" && idle.outcome.kind === "stopped");
  const always = setup({ ...every, rules: { restart: "always" } });
  always.spawner.up("web");
  always.clock.advance(3_600_000);
  always.spawner.exit("web", 0);
  always.spawner.swept("web");
  assert.equal(always.state()?.status, "starting");
});

test("2.2 a program that can't be executed is not retried; a lack of resources is", () => {
  const missing = setup({ rules: { restart: "always" } });
  missing.spawner.end("web", { kind: "unstartable", message: "there is no program", permanent: true });
  const state = missing.state();
  assert.ok(state?.status === "idle" && state.outcome.kind === "failed");
  const scarce = setup({ rules: { restart: "error", restartDelayMs: 100 } });
  scarce.spawner.end("web", { kind: "unstartable", message: "EAGAIN", permanent: false });
  assert.equal(scarce.state()?.status, "backoff");
});

test("2.2 cron: starts at its times, is skipped while the previous run is active, and reports the next time", () => {
  const { spawner, clock, notices, process } = setup({
    autostart: false,
    cron: "*/5 * * * *",
    rules: { restart: "never" },
  });
  assert.equal(process.next("start"), clock.wall() + 300_000);
  clock.advance(300_000);
  spawner.up("web");
  clock.advance(300_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
  assert.deepEqual(
    notices.map(({ type }) => type),
    ["scheduled", "skipped"],
  );
  spawner.exit("web", 0);
  clock.advance(300_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 2"]);
});

test("2.2 overrun: a second run starts while the first still runs, and stop reaches both", () => {
  const { spawner, clock, process } = setup({
    autostart: false,
    overrun: true,
    cron: "* * * * *",
    rules: { restart: "never" },
  });
  clock.advance(60_000);
  spawner.up("web");
  clock.advance(60_000);
  spawner.up("web:2");
  process.stop();
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "spawn web:2 2", "SIGTERM web 1", "SIGTERM web:2 2"]);
  for (const slot of ["web", "web:2"]) {
    spawner.exit(slot, 0);
    spawner.swept(slot);
  }
  assert.ok(process.isIdle);
  clock.advance(60_000);
  assert.deepEqual(spawner.takeRequests().at(-1), "spawn web 3", "a free slot is used again");
});

test("2.2 cron: a clock set ahead by hours leads to one run, one set back doesn't stall the schedule", () => {
  const { spawner, clock } = setup({ autostart: false, cron: "* * * * *", rules: { restart: "never" } });
  clock.jump(5 * 3_600_000);
  clock.advance(30_000);
  spawner.up("web");
  spawner.exit("web", 0);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
  clock.jump(-5 * 3_600_000);
  clock.advance(120_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 2"]);
});

test("3 block: no restart by policy, no cron; the current run continues; a manual start is refused; unblock restarts by policy", () => {
  const { spawner, process, clock, state, notices } = setup({ cron: "* * * * *" });
  spawner.up("web");
  process.block();
  assert.equal(state()?.status, "running");
  spawner.exit("web", 1);
  clock.advance(60_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
  assert.equal(notices.at(-1)?.type, "skipped");
  assert.throws(() => process.start(), { code: "process-blocked" });
  process.unblock();
  assert.deepEqual(spawner.takeRequests(), ["spawn web 2"]);
});

test("3 unblock continues a restart that the block has cancelled, with its delay and its count", () => {
  const { spawner, process, clock, state } = setup({ rules: { restartDelayMs: 100 } });
  spawner.up("web");
  spawner.exit("web", 1);
  process.block();
  process.unblock();
  assert.deepEqual([state()?.status, state()?.restarts], ["backoff", 0]);
  clock.advance(100);
  assert.deepEqual([state()?.status, state()?.restarts], ["starting", 1]);
});

test("3 unblock starts nothing that was not held: neither a stopped process, nor one that finished before, nor one without a policy", () => {
  const stopped = setup({ rules: { restart: "always" } });
  stopped.spawner.up("web");
  stopped.process.block();
  stopped.process.stop();
  stopped.spawner.exit("web", 0);
  const before = setup({ rules: { restart: "error" } });
  before.spawner.up("web");
  before.spawner.exit("web", 0);
  before.process.block();
  const never = setup({ rules: { restart: "never" } });
  never.spawner.up("web");
  never.process.block();
  never.spawner.exit("web", 1);
  for (const { process, spawner } of [stopped, before, never]) {
    spawner.takeRequests();
    process.unblock();
    assert.deepEqual(spawner.takeRequests(), []);
  }
});

test("3 block cancels a pending restart", () => {
  const { spawner, process, clock, state } = setup({ rules: { restartDelayMs: 100 } });
  spawner.up("web");
  spawner.exit("web", 1);
  process.block();
  assert.equal(state()?.status, "idle");
  clock.advance(1_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
});

test("3 start of a running process is refused; during a stop it starts afterwards; there is no second copy", () => {
  const { spawner, process } = setup();
  spawner.up("web");
  assert.throws(() => process.start(), { code: "process-running" });
  process.stop();
  process.start();
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "SIGTERM web 1"]);
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGTERM web 1", "spawn web 2"]);
});

test("3 restart of an idle process starts it; a stop during a restart wins", () => {
  const { spawner, process, state } = setup({ autostart: false });
  process.restart();
  spawner.up("web");
  process.restart();
  process.stop();
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.equal(state()?.status, "idle");
});

test("a restarted service continues with the same restarts, deadlines and block", () => {
  const running = setup(
    { rules: { timeoutMs: 10_000 } },
    { blocked: true, slots: { web: { status: "running", run: 7, restarts: 2, pid: 55, since: 500, ready: false } } },
  );
  assert.deepEqual(running.spawner.takeRequests(), ["adopt alive web 7"]);
  assert.ok(running.process.isBlocked);
  running.clock.advance(9_499);
  assert.deepEqual(running.spawner.takeRequests(), []);
  running.clock.advance(1);
  assert.deepEqual(running.spawner.takeRequests(), ["SIGTERM web 7"]);
  const backoff = setup(
    {},
    {
      blocked: false,
      slots: { web: { status: "backoff", run: 3, restarts: 1, until: 1_500, ending: { kind: "unknown" } } },
    },
  );
  backoff.clock.advance(500);
  assert.deepEqual(backoff.spawner.takeRequests(), ["spawn web 4"]);
});

test("no timer outlives its purpose", () => {
  const { spawner, process, clock } = setup({ rules: { timeoutMs: 1_000 } });
  spawner.up("web");
  process.stop();
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.equal(clock.armed, 0);
});

test("a supervisor that gives way to another refuses a start for that reason, not because the process leaves", () => {
  const { supervisor } = setup({});
  supervisor.dispose();
  for (const verb of ["start", "restart"] as const)
    assert.throws(() => supervisor.find("web")[verb](), { code: "service-down" });
});

test("stopAll resolves when no process is left, and schedules start nothing afterwards", async () => {
  const { spawner, supervisor, clock } = setup({ cron: "* * * * *" });
  spawner.up("web");
  const stopped = supervisor.stopAll();
  assert.throws(() => supervisor.find("web").start(), { code: "process-leaving" });
  spawner.exit("web", 0);
  spawner.swept("web");
  await stopped;
  spawner.takeRequests();
  clock.advance(120_000);
  assert.deepEqual(spawner.takeRequests(), []);
});

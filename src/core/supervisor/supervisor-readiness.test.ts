import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner } from "../../../test/support/fakes.ts";
import type { Policy } from "./restart-policy.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import { Supervisor } from "./supervisor.ts";

const policy: Policy = {
  restart: "error",
  restartLimit: 1,
  restartResetMs: 60_000,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 0,
  waits: false,
  readyMs: 1_000,
};

function setup(rules: Partial<Policy> = {}, snapshot?: ProcessSnapshot) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  const definition = { id: "web", policy: { ...policy, ...rules }, autostart: true, overrun: false };
  supervisor.resume([definition], snapshot === undefined ? new Map() : new Map([["web", snapshot]]));
  supervisor.apply([definition]);
  const process = supervisor.find("web");
  return {
    clock,
    spawner,
    supervisor,
    definition,
    process,
    state: () => process.states[0] as { status: string; ready?: boolean; healthy?: boolean },
  };
}

test("without a readiness probe a run is ready as soon as it is running", () => {
  const { readyMs: _none, ...rest } = policy;
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  supervisor.apply([{ id: "web", policy: rest, autostart: true, overrun: false }]);
  spawner.up("web");
  // The only timer is that for preparing the next run.
  clock.advance(1_000);
  assert.deepEqual([supervisor.find("web").states[0]?.status, clock.armed], ["running", 0]);
  assert.equal((supervisor.find("web").states[0] as { ready?: boolean }).ready, true);
});

test("a run that becomes ready in time has no more deadline", () => {
  const { clock, spawner, process, state } = setup();
  spawner.up("web");
  assert.equal(state().ready, false);
  clock.advance(999);
  process.report("web", { type: "ready", run: 1 });
  assert.equal(state().ready, true);
  clock.advance(60_000);
  assert.deepEqual([state().status, clock.armed], ["running", 0]);
});

test("a run that isn't ready in time is stopped and restarted by its policy until the limit, with the reason", () => {
  const { clock, spawner, process } = setup();
  spawner.up("web");
  spawner.takeRequests();
  clock.advance(1_000);
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 1"]);
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGTERM web 1", "spawn web 2"]);
  spawner.up("web");
  clock.advance(1_000);
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.deepEqual(process.states[0], {
    run: 2,
    restarts: 1,
    status: "idle",
    outcome: { kind: "exhausted", ending: { kind: "exited", code: 0, signal: null }, fault: "unready" },
  });
});

test("readiness reported for an earlier run doesn't make a later one ready", () => {
  const { spawner, process, state } = setup();
  spawner.up("web");
  spawner.exit("web", 1);
  spawner.up("web");
  process.report("web", { type: "ready", run: 1 });
  assert.equal(state().ready, false);
});

test("a restarted service continues with the same run and deadline", () => {
  const first = setup();
  first.spawner.up("web");
  first.clock.advance(400);
  const second = setup({}, first.spawner.snapshots.get("web"));
  assert.deepEqual([second.state().status, second.state().ready], ["running", false]);
  second.clock.advance(1_000);
  assert.deepEqual(second.spawner.takeRequests(), ["adopt alive web 1", "SIGTERM web 1"]);
});

test("a run becomes ready when its readiness probe is removed", () => {
  const { spawner, supervisor, definition, process, state } = setup();
  spawner.up("web");
  const snapshot = spawner.snapshots.get("web") as ProcessSnapshot;
  const { readyMs: _none, ...rest } = definition.policy;
  supervisor.apply([{ ...definition, policy: rest }], new Map([["web", { fields: ["ready"], restart: false }]]));
  assert.deepEqual([state().ready, process.states.length], [true, 1]);
  const again = new Supervisor({
    clock: new FakeClock(),
    spawner: new FakeSpawner(),
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  again.resume([{ ...definition, policy: rest }], new Map([["web", snapshot]]));
  assert.equal((again.find("web").states[0] as { ready?: boolean }).ready, true);
});

test("an unhealthy run is restarted by its policy; without one it keeps running and may recover", () => {
  const { spawner, process, state } = setup();
  spawner.up("web");
  spawner.takeRequests();
  process.report("web", { type: "health", run: 1, good: false });
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 1"]);
  spawner.exit("web", 0);
  spawner.swept("web");
  assert.deepEqual(spawner.takeRequests(), ["sweep SIGTERM web 1", "spawn web 2"]);
  process.block();
  spawner.up("web");
  process.report("web", { type: "health", run: 2, good: false });
  assert.deepEqual([state().status, state().healthy], ["running", false]);
  process.report("web", { type: "health", run: 2, good: true });
  assert.equal(state().healthy, true);
});

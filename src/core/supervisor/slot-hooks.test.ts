/** Hooks: what the machine of a slot does before the start of a run and after its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { Policy } from "./restart-policy.ts";
import { Supervisor } from "./supervisor.ts";

const HOOK = { line: "true", timeoutMs: 60_000 };
const BOTH = { beforeStart: HOOK, afterStop: HOOK };
const FAILED = { kind: "unstartable", message: "its hook beforeStart exited with code 3", permanent: false } as const;

function setup(rules: Partial<Policy>) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const ports = { clock, spawner, publish: () => undefined, notice: () => undefined, removed: () => undefined };
  const definitions = [{ id: "web", policy: { ...POLICY, ...rules }, autostart: true, overrun: false }];
  const supervisor = new Supervisor(ports);
  supervisor.apply(definitions);
  /** A new service that continues from the notes. */
  const next = () => {
    supervisor.dispose();
    const resumed = new Supervisor(ports);
    resumed.resume(definitions, spawner.snapshots);
    return resumed.find("web");
  };
  const process = supervisor.find("web");
  return { clock, spawner, process, next, state: () => process.states[0], did: () => spawner.takeRequests() };
}

test("a run starts after its hook beforeStart, and another one after the hook afterStop", () => {
  const { spawner, state, did } = setup({ ...BOTH, restart: "always" });
  assert.deepEqual([state()?.status, did()], ["starting", ["beforeStart web 1"]]);
  spawner.hookEnded("web");
  assert.deepEqual(did(), ["spawn web 1"]);
  spawner.up("web");
  spawner.exit("web", 5);
  assert.deepEqual([state()?.status, did()], ["stopping", ["afterStop web 1 with code 5"]]);
  spawner.hookEnded("web");
  assert.deepEqual([state()?.status, did()], ["starting", ["beforeStart web 2"]]);
});

test("the policy decides on a start whose hook has failed, without the hook afterStop", () => {
  const { clock, spawner, state, did } = setup({ ...BOTH, restartLimit: 2 });
  spawner.end("web", FAILED);
  assert.deepEqual(did(), ["beforeStart web 1", "beforeStart web 2"]);
  spawner.end("web", FAILED);
  assert.equal(state()?.status, "backoff");
  clock.advance(200);
  spawner.end("web", FAILED);
  assert.deepEqual(did(), ["beforeStart web 3"]);
  assert.deepEqual(state(), { status: "idle", run: 3, restarts: 2, outcome: { kind: "exhausted", ending: FAILED } });
});

test("a stop ends the hook beforeStart, and nothing is started, even if the hook has just succeeded", () => {
  for (const isLate of [false, true]) {
    const { spawner, process, state, did } = setup(BOTH);
    process.stop();
    assert.deepEqual([state()?.status, did()], ["stopping", ["beforeStart web 1", "end beforeStart web 1"]]);
    if (isLate) spawner.hookEnded("web");
    else spawner.end("web", FAILED);
    assert.deepEqual(state(), { status: "idle", run: 1, restarts: 0, outcome: { kind: "stopped" } });
    // The hook that had just succeeded reports that it was ended, too.
    spawner.end("web", FAILED);
    assert.deepEqual([state()?.status, did()], ["idle", []]);
  }
});

test("a restart during the hook beforeStart ends it, and runs it again", () => {
  const { spawner, process, did } = setup(BOTH);
  process.restart();
  spawner.end("web", FAILED);
  assert.deepEqual(did(), ["beforeStart web 1", "end beforeStart web 1", "beforeStart web 2"]);
});

test("the hook afterStop runs when nothing is left of the run, and a stop lasts until it is over", () => {
  const { spawner, process, state, did } = setup({ afterStop: HOOK });
  spawner.up("web");
  process.stop();
  spawner.end("web", { kind: "exited", code: null, signal: "SIGTERM" }, true);
  assert.deepEqual(did(), ["spawn web 1", "SIGTERM web 1", "sweep SIGTERM web 1"]);
  spawner.swept("web");
  assert.deepEqual([state()?.status, did()], ["stopping", ["afterStop web 1 with code null"]]);
  process.start();
  assert.deepEqual(did(), []);
  spawner.hookEnded("web");
  assert.deepEqual([state()?.status, did()], ["starting", ["spawn web 2"]]);
});

test("the time of the hook afterStop doesn't count as time of the run", () => {
  const { clock, spawner, state } = setup({ afterStop: HOOK, restartLimit: 1, restartResetMs: 1_000 });
  for (const status of ["starting", "idle"]) {
    spawner.up("web");
    clock.advance(900);
    spawner.exit("web", 1);
    clock.advance(10_000);
    spawner.hookEnded("web");
    assert.equal(state()?.status, status);
  }
});

test("a process with a hook has no restart order; a hook that a reload adds applies from the next end and start on", () => {
  for (const hook of [{ beforeStart: HOOK }, { afterStop: HOOK }]) {
    const { clock, spawner } = setup({ ...hook, restart: "always" });
    spawner.hookEnded("web");
    spawner.up("web");
    clock.advance(3_600_000);
    assert.equal(spawner.restartOrders.size, 0);
  }
});

test("a new service repeats the hook that was running, and ends one that should be ended", () => {
  const before = setup(BOTH);
  before.did();
  assert.equal(before.next().states[0]?.status, "starting");
  assert.deepEqual(before.did(), ["repeat beforeStart web 1"]);
  before.spawner.hookEnded("web");
  assert.deepEqual(before.did(), ["spawn web 1"]);

  const stopped = setup(BOTH);
  stopped.process.stop();
  stopped.did();
  const process = stopped.next();
  assert.deepEqual(stopped.did(), ["end beforeStart web 1"]);
  stopped.spawner.end("web", FAILED);
  assert.equal(process.states[0]?.status, "idle");

  const after = setup({ afterStop: HOOK });
  after.spawner.up("web");
  after.spawner.exit("web", 4);
  after.did();
  after.next();
  assert.deepEqual(after.did(), ["repeat afterStop web 1 with code 4"]);
});

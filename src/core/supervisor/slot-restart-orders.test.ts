/** Restart orders: the runs that the keeper starts by itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { Process } from "./process.ts";
import type { Policy } from "./restart-policy.ts";
import { Supervisor } from "./supervisor.ts";

function setup(rules: Partial<Policy> = {}) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  const definitions = (changed: Partial<Policy> = {}) => [
    {
      id: "web",
      policy: { ...POLICY, restart: "always" as const, ...rules, ...changed },
      autostart: true,
      overrun: false,
    },
  ];
  const apply = (changed: Partial<Policy>): void =>
    supervisor.apply(
      definitions(changed),
      new Map([["web", { id: "web", fields: ["restart"], restart: false, route: false } as never]]),
    );
  supervisor.apply(definitions());
  spawner.up("web");
  spawner.takeRequests();
  const process: Process = supervisor.find("web");
  return {
    clock,
    spawner,
    process,
    apply,
    state: () => process.states[0],
    restartOrder: () => spawner.restartOrders.get("web"),
  };
}

/** Killed by SIGTERM, without surviving children. */
function ends(spawner: FakeSpawner): void {
  spawner.end("web", { kind: "exited", code: null, signal: "SIGTERM" });
  spawner.swept("web");
}

test("2.2 the keeper gets a restart order once a run is settled, for the exits after which the policy restarts", () => {
  for (const [rules, expected] of [
    [{}, "2 after any-end"],
    [{ restartDelayMs: 0 }, "2 after any-end"],
    [{ restart: "error" }, "2 after failure"],
    [{ restart: "never" }, undefined],
    [{ successExitCodes: [3] }, "2 after any-end"],
    [{ restart: "error", successExitCodes: [3] }, undefined],
    [{ restartDelayMs: 1 }, undefined],
    [{ restartLimit: 0 }, undefined],
  ] as const) {
    const { clock, restartOrder } = setup(rules);
    clock.advance(999);
    assert.equal(restartOrder(), undefined);
    clock.advance(1);
    assert.equal(restartOrder(), expected, JSON.stringify(rules));
    clock.advance(3_600_000);
    assert.equal(restartOrder(), expected, JSON.stringify(rules));
  }
});

test("2.2 after a delayed restart, or at the restart limit, the keeper gets a restart order once the run is stable", () => {
  const { clock, spawner, restartOrder } = setup({ restartLimit: 1 });
  spawner.exit("web", 1);
  spawner.up("web");
  clock.advance(59_999);
  assert.equal(restartOrder(), undefined);
  clock.advance(1);
  assert.equal(restartOrder(), "3 after any-end");
});

test("2.2 a run that the keeper started by a restart order counts as a restart", () => {
  const { clock, spawner, state, restartOrder } = setup({ restartDelayMs: 0 });
  clock.advance(1_000);
  spawner.endAndRestart("web", 3);
  assert.deepEqual(spawner.takeRequests(), ["adopt restarted web 2"]);
  assert.deepEqual([state()?.status, state()?.run, state()?.restarts], ["starting", 2, 1]);
  spawner.up("web");
  assert.equal(state()?.status, "running");
  clock.advance(1_000);
  assert.equal(restartOrder(), "3 after any-end");
});

test("2.2 stopping, blocking or restarting a process cancels its restart order", () => {
  const { clock, spawner, process, apply, restartOrder } = setup();
  clock.advance(1_000);
  process.block();
  assert.equal(restartOrder(), undefined);
  process.unblock();
  clock.advance(0);
  assert.equal(restartOrder(), "2 after any-end");
  apply({ restartDelayMs: 500 });
  clock.advance(0);
  assert.equal(restartOrder(), undefined);
  apply({ restart: "error" });
  clock.advance(0);
  assert.equal(restartOrder(), "2 after failure");
  process.stop();
  assert.deepEqual([restartOrder(), spawner.takeRequests()], [undefined, ["SIGTERM web 1"]]);
});

test("2.2 a run that the keeper starts by a restart order at the moment of a stop is stopped too", () => {
  const { clock, spawner, process, state } = setup();
  clock.advance(1_000);
  process.stop();
  spawner.endAndRestart("web", 3);
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 1", "adopt restarted web 2"]);
  spawner.up("web");
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 2"]);
  ends(spawner);
  assert.deepEqual([state()?.status, state()?.run, spawner.takeRequests()], ["idle", 2, ["sweep SIGTERM web 2"]]);
});

test("2.2 a run that the keeper starts by a restart order at the moment of a manual restart may have the old definition, so it is replaced", () => {
  const { clock, spawner, process, state } = setup();
  clock.advance(1_000);
  process.restart();
  spawner.endAndRestart("web", 3);
  spawner.up("web");
  assert.deepEqual(spawner.takeRequests(), ["SIGTERM web 1", "adopt restarted web 2", "SIGTERM web 2"]);
  ends(spawner);
  spawner.up("web");
  assert.deepEqual(
    [state()?.status, state()?.run, spawner.takeRequests()],
    ["running", 3, ["sweep SIGTERM web 2", "spawn web 3"]],
  );
});

test("2.2 a run that the keeper starts by a restart order at the moment of a block is stopped", () => {
  const { clock, spawner, process, state } = setup();
  clock.advance(1_000);
  process.block();
  spawner.endAndRestart("web", 3);
  spawner.up("web");
  assert.deepEqual(spawner.takeRequests(), ["adopt restarted web 2", "SIGTERM web 2"]);
  ends(spawner);
  assert.deepEqual([state()?.status, spawner.takeRequests()], ["idle", ["sweep SIGTERM web 2"]]);
});

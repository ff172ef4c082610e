/** Instances of a cluster are restarted for their health one at a time, and none while no other one is healthy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import { Supervisor } from "./supervisor.ts";

const IDS = ["web-1", "web-2", "web-3"] as const;

function rig(count = 3) {
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  const ids = IDS.slice(0, count);
  supervisor.apply(
    ids.map((id) => ({ id, cluster: "web", autostart: true, overrun: false, policy: { ...POLICY, readyMs: 1_000 } })),
  );
  const run = (id: string): number => supervisor.statesOf(id)[0]?.run ?? 0;
  const health = (id: string, good: boolean): void =>
    supervisor.find(id).report(id, { type: "health", run: run(id), good });
  const ready = (id: string): void => {
    spawner.up(id);
    supervisor.find(id).report(id, { type: "ready", run: run(id) });
  };
  const status = (): readonly string[] => ids.map((id) => supervisor.statesOf(id)[0]?.status ?? "");
  /** The stopped run ends. */
  const ends = (id: string): void => {
    spawner.exit(id, 0);
    spawner.swept(id);
  };
  for (const id of ids) ready(id);
  for (const id of ids) health(id, true);
  return { clock, spawner, supervisor, health, ready, status, ends };
}

test("when all become unhealthy the first is restarted, the others are not; when the cause is over all are healthy at once", () => {
  const { supervisor, health, ready, status, ends } = rig();
  health("web-1", false);
  assert.deepEqual(status(), ["stopping", "running", "running"]);
  health("web-2", false);
  assert.deepEqual(supervisor.healthHold("web-2"), { process: "web-1" });
  health("web-3", false);
  assert.deepEqual(status(), ["stopping", "running", "running"]);
  ends("web-1");
  ready("web-1");
  for (let check = 0; check < 3; check++) for (const id of IDS) health(id, false);
  assert.deepEqual(status(), ["running", "running", "running"]);
  for (const id of IDS) assert.deepEqual(supervisor.healthHold(id), {});
  for (const id of IDS) assert.ok(supervisor.areOthersUnhealthy(id));
  for (const id of IDS) health(id, true);
  assert.deepEqual(
    IDS.map((id) => supervisor.statesOf(id)[0]?.restarts),
    [1, 0, 0],
  );
});

test("an instance that stays unhealthy is restarted once another one is healthy again and no restart is under way", () => {
  const { supervisor, health, ready, status, ends } = rig();
  health("web-1", false);
  health("web-2", false);
  ends("web-1");
  ready("web-1");
  health("web-2", false);
  assert.deepEqual(supervisor.healthHold("web-2"), { process: "web-1" }, "its new run has passed no check");
  health("web-1", true);
  health("web-2", false);
  assert.deepEqual(status(), ["running", "stopping", "running"]);
});

test("a back-off for health ends when another instance is healthy again", () => {
  const { clock, supervisor, spawner, health, status, ends } = rig();
  health("web-1", false);
  for (const id of ["web-2", "web-3"]) health(id, false);
  ends("web-1");
  for (let turn = 0; turn < 8; turn++) {
    if (supervisor.statesOf("web-1")[0]?.status === "backoff") clock.advance(30_000);
    spawner.up("web-1");
    clock.advance(1_000);
    ends("web-1");
  }
  assert.deepEqual(status(), ["backoff", "running", "running"], "it was never ready");
  health("web-2", true);
  assert.deepEqual(status(), ["starting", "running", "running"]);
});

test("an instance in a back-off for its health is one that is being restarted", () => {
  const { clock, supervisor, spawner, health, status, ends } = rig();
  health("web-1", false);
  ends("web-1");
  for (let turn = 0; turn < 8 && supervisor.statesOf("web-1")[0]?.status !== "backoff"; turn++) {
    spawner.up("web-1");
    clock.advance(1_000);
    ends("web-1");
  }
  assert.deepEqual(status(), ["backoff", "running", "running"], "it was not ready in time");
  health("web-2", false);
  assert.deepEqual(status(), ["backoff", "running", "running"]);
  assert.deepEqual(supervisor.healthHold("web-2"), { process: "web-1" });
});

test("an instance alone, or whose others were stopped, is restarted as any process", () => {
  const alone = rig(1);
  alone.health("web-1", false);
  assert.deepEqual(alone.status(), ["stopping"]);
  const { supervisor, health, status, ends } = rig();
  for (const id of ["web-2", "web-3"]) {
    supervisor.find(id).stop();
    ends(id);
  }
  health("web-1", false);
  assert.deepEqual(status(), ["stopping", "idle", "idle"]);
});

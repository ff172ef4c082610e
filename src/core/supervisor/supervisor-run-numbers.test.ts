/** Numbers of runs: unique and rising over all slots of a process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { ProcessDefinition } from "./definition.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import type { SlotState } from "./states.ts";
import { Supervisor } from "./supervisor.ts";

const ALWAYS = { ...POLICY, restart: "always" } as const;
const WEB: ProcessDefinition = { id: "web", policy: { ...POLICY, restart: "never" }, autostart: false, overrun: true };
const CHANGE = { fields: ["overrun"], restart: false, route: false };

function setup(definition: Partial<ProcessDefinition> = {}, slots?: ProcessSnapshot["slots"]) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  const definitions = (changed: Partial<ProcessDefinition> = {}) => [{ ...WEB, ...definition, ...changed }];
  supervisor.resume(definitions(), slots === undefined ? new Map() : new Map([["web", { blocked: false, slots }]]));
  supervisor.apply(definitions());
  const process = supervisor.find("web");
  const begin = (slot: string): void => {
    process.start();
    spawner.up(slot);
  };
  const change = (changed: Partial<ProcessDefinition>): void =>
    supervisor.apply(definitions(changed), new Map([["web", CHANGE]]));
  return { clock, spawner, process, begin, change, orders: () => Object.fromEntries(spawner.restartOrders) };
}

const running = (run: number): SlotState => ({
  status: "running",
  run,
  restarts: 0,
  pid: 100 + run,
  since: 0,
  ready: true,
});
const finished = (run: number): SlotState => ({
  status: "idle",
  run,
  restarts: 0,
  outcome: { kind: "finished", ending: { kind: "exited", code: 0, signal: null } },
});
test("2.7 overlapping runs are numbered in the order of their starts, whichever slot they are in", () => {
  const { spawner, begin } = setup();
  for (const slot of ["web", "web:2", "web:3"]) begin(slot);
  spawner.exit("web:2", 0);
  begin("web:2");
  spawner.exit("web", 0);
  begin("web");
  assert.deepEqual(spawner.takeRequests(), [
    "spawn web 1",
    "spawn web:2 2",
    "spawn web:3 3",
    "spawn web:2 4",
    "spawn web 5",
  ]);
});

test("2.7 a restart gets the next number of the process, not of its slot", () => {
  const { clock, spawner, begin } = setup({ policy: { ...ALWAYS, restartDelayMs: 10 } });
  begin("web");
  begin("web:2");
  spawner.exit("web", 1);
  clock.advance(10);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "spawn web:2 2", "spawn web 3"]);
});

test("2.7 numbers continue after those of an earlier service, whichever slot has the highest one", () => {
  const { spawner, process } = setup(
    {},
    { web: running(3), "web:2": running(1), "web:3": finished(7), "web:4": finished(2) },
  );
  process.start();
  process.start();
  assert.deepEqual(spawner.takeRequests().slice(-2), ["spawn web:3 8", "spawn web:4 9"]);
});

test("2.7 runs that were requested and lost are requested again in the order of their numbers", () => {
  const starting = (run: number): SlotState => ({ status: "starting", run, restarts: 0 });
  const { spawner } = setup({}, { web: starting(6), "web:2": starting(5), "web:3": starting(4) });
  assert.deepEqual(spawner.takeRequests(), ["adopt asked web:3 4", "adopt asked web:2 5", "adopt asked web 6"]);
});

test("2.2 with overrun the service decides about each restart: a restart order has its number in advance", () => {
  const { clock, begin, change, orders } = setup({ policy: ALWAYS });
  begin("web");
  clock.advance(3_600_000);
  assert.deepEqual(orders(), {});
  change({ overrun: false });
  clock.advance(0);
  assert.deepEqual(orders(), { web: "2 after any-end" });
});

test("2.2 while runs overlap that began when overrun was on, none has a restart order", () => {
  const { clock, spawner, begin, change, orders } = setup({
    policy: { ...ALWAYS, restart: "error", restartDelayMs: 0 },
  });
  begin("web");
  begin("web:2");
  change({ overrun: false });
  clock.advance(3_600_000);
  assert.deepEqual(orders(), {});
  spawner.exit("web:2", 0);
  spawner.exit("web", 1);
  spawner.up("web");
  clock.advance(1_000);
  assert.deepEqual(orders(), { web: "4 after failure" });
});

test("2.2 when overrun is turned on, the number of a restart order that the keeper may have executed already goes to no other run", () => {
  for (const isExecuted of [false, true]) {
    const { clock, spawner, process, begin, change } = setup({ policy: ALWAYS, overrun: false });
    begin("web");
    clock.advance(1_000);
    change({ overrun: true });
    process.start();
    if (isExecuted) spawner.endAndRestart("web", 1);
    else spawner.exit("web", 1);
    process.start();
    assert.deepEqual(
      spawner.takeRequests(),
      isExecuted
        ? ["spawn web 1", "spawn web:2 3", "adopt restarted web 2", "spawn web:3 4"]
        : ["spawn web 1", "spawn web:2 3", "spawn web 4", "spawn web:3 5"],
    );
  }
});

test("2.2 without overrun no second run starts, also after overlapping runs", () => {
  const { spawner, process, begin, change } = setup();
  begin("web");
  begin("web:2");
  spawner.exit("web:2", 0);
  change({ overrun: false });
  spawner.takeRequests();
  assert.throws(() => process.start(), /it is already running/);
  assert.deepEqual(spawner.takeRequests(), []);
});

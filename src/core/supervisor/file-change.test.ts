import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner } from "../../../test/support/fakes.ts";
import type { ProcessDefinition } from "./definition.ts";
import type { Process } from "./process.ts";
import type { ProcessEvent } from "./process-notice.ts";
import { Supervisor } from "./supervisor.ts";

const definition: ProcessDefinition = {
  id: "web",
  policy: {
    restart: "error",
    restartLimit: 3,
    restartResetMs: 60_000,
    graceMs: 0,
    terminateMs: 30_000,
    timeoutMs: 0,
    waits: false,
  },
  autostart: true,
  overrun: false,
};

function setup(more: Partial<ProcessDefinition> = {}) {
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const notices: ProcessEvent[] = [];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: (_id, notice) => notices.push(notice),
    removed: () => undefined,
  });
  supervisor.apply([{ ...definition, ...more }]);
  const process = supervisor.find("web");
  spawner.up("web");
  /** A change reported this many milliseconds ago. */
  const change = (agoMs = 0): readonly ProcessEvent[] => {
    notices.length = 0;
    process.onFileChange({ files: ["src/a.ts"], count: 1, at: clock.now() - agoMs });
    return notices;
  };
  return { clock, spawner, supervisor, process, change };
}

const notices = (effect: string) => [{ type: "watch", files: ["src/a.ts"], count: 1, effect }];

function stateOf(process: Process): unknown {
  const [state] = process.states;
  return state?.status === "idle" ? state.outcome.kind : state?.status;
}

test("2.2 watch: a running process is restarted once, and the restart isn't counted", () => {
  const { clock, spawner, process, change } = setup();
  clock.advance(10);
  assert.deepEqual(change(), notices("restarts"));
  assert.deepEqual(change(), []);
  spawner.exit("web", 0);
  spawner.swept("web");
  spawner.up("web");
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1", "SIGTERM web 1", "sweep SIGTERM web 1", "spawn web 2"]);
  const [state] = process.states;
  assert.equal(state?.status === "running" ? state.restarts : undefined, 0);
});

test("2.2 watch: a run that began after the change is not restarted", () => {
  const { clock, spawner, change } = setup();
  clock.advance(10);
  assert.deepEqual(change(11), []);
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
});

test("2.2 watch: a process that finished, failed or exhausted its restarts is started", () => {
  const { clock, spawner, process, change } = setup();
  spawner.exit("web", 0);
  clock.advance(10);
  assert.deepEqual(change(), notices("starts"));
  spawner.up("web");
  for (let run = 0; run < 4; run++) {
    spawner.exit("web", 1);
    clock.advance(30_000);
    spawner.up("web");
  }
  assert.equal(stateOf(process), "exhausted");
  assert.deepEqual(change(), notices("starts"));
  assert.equal(stateOf(process), "starting");
});

test("2.2 watch: a delayed restart happens immediately, with the count reset", () => {
  const { clock, spawner, process, change } = setup();
  for (let run = 0; run < 2; run++) {
    spawner.exit("web", 1);
    spawner.up("web");
  }
  assert.equal(stateOf(process), "backoff");
  clock.advance(1);
  assert.deepEqual(change(), notices("starts"));
  const [state] = process.states;
  assert.deepEqual([state?.status, state?.restarts], ["starting", 0]);
});

test("2.2 watch: files that a process writes while it is being stopped don't start it again; a later change does", () => {
  const { clock, spawner, process, change } = setup();
  process.stop();
  clock.advance(100);
  assert.deepEqual(change(), []);
  clock.advance(100);
  spawner.exit("web", 0);
  spawner.swept("web");
  clock.advance(1_000);
  assert.deepEqual(change(1_050), []);
  assert.equal(stateOf(process), "stopped");
  assert.deepEqual(change(), notices("starts"));
});

test("2.2 watch: a blocked process is not restarted", () => {
  const { clock, process, spawner, change } = setup();
  clock.advance(10);
  process.block();
  assert.deepEqual(change(), notices("blocked"));
  assert.deepEqual(spawner.takeRequests(), ["spawn web 1"]);
});

test("2.2 watch: nothing starts while everything is being stopped", () => {
  const { clock, spawner, supervisor, change } = setup();
  void supervisor.stopAll();
  clock.advance(10);
  assert.deepEqual(change(), []);
  spawner.exit("web", 0);
  spawner.swept("web");
  clock.advance(10);
  assert.deepEqual(change(), []);
});

test("2.2 watch: overlapping runs are stopped, and one starts", () => {
  const { clock, spawner, process, change } = setup({ overrun: true });
  process.start();
  spawner.up("web:2");
  clock.advance(10);
  change();
  spawner.exit("web", 0);
  spawner.exit("web:2", 0);
  for (const slot of ["web", "web:2"]) spawner.swept(slot);
  const spawned = spawner.takeRequests().filter((line) => line.startsWith("spawn"));
  assert.deepEqual(spawned, ["spawn web 1", "spawn web:2 2", "spawn web 3"]);
});

test("a restart because of a changed file is completed by the next service", () => {
  const { clock, spawner, change } = setup();
  clock.advance(10);
  change();
  const next = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner: next,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  supervisor.resume(
    [definition],
    new Map([["web", JSON.parse(JSON.stringify(spawner.snapshots.get("web"))) as never]]),
  );
  supervisor.apply([definition]);
  next.exit("web", 0);
  next.swept("web");
  assert.deepEqual(next.takeRequests(), ["adopt alive web 1", "sweep SIGTERM web 1", "spawn web 2"]);
});

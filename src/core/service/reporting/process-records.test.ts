/** Records of processes whose runs overlap. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../../test/support/fakes.ts";
import { normalise } from "../../config/normalise.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import * as recordVerdicts from "../../contract/status-sets.ts";
import type { ExitInfo, SlotState } from "../../supervisor/states.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import * as slotVerdicts from "../../supervisor/verdict.ts";
import { recordOf } from "./process-records.ts";
import { statusOf } from "./status-text.ts";

function setup(overrun = true) {
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  supervisor.apply([{ id: "job", policy: { ...POLICY, restart: "never" }, autostart: false, overrun }]);
  const context = { folder: "/", parallelism: 1, now: new Date(), stripsTypes: false };
  const [spec] = normalise({ processes: [{ id: "job", cmd: "true", overrun }] }, context).processes as [ProcessSpec];
  const process = supervisor.find("job");
  const observation = { usage: { memoryBytes: 7 }, sampled: [101], reported: {} };
  const begin = (slot: string): void => {
    process.start();
    spawner.up(slot);
  };
  return { spawner, begin, process, record: () => recordOf(process, spec, observation) };
}

const shown = ({ pid, run, runs }: ReturnType<typeof recordOf>): unknown => [
  pid,
  run,
  runs?.map((each) => [each.run, each.pid, each.started !== undefined]),
];

test("2.7 with overrun the record has all runs that are not over, and is that of the latest", () => {
  const { spawner, begin, process, record } = setup();
  assert.deepEqual(shown(record()), [undefined, undefined, undefined]);
  begin("job");
  assert.deepEqual(shown(record()), [101, 1, [[1, 101, true]]]);
  begin("job:2");
  process.start();
  const starting = [
    [1, 101, true],
    [2, 102, true],
    [3, undefined, false],
  ];
  assert.deepEqual(shown(record()), [undefined, 3, starting]);
  spawner.up("job:3");
  spawner.exit("job:2", 0);
  const left = [
    [1, 101, true],
    [3, 103, true],
  ];
  assert.deepEqual(shown(record()), [103, 3, left]);
  spawner.exit("job:3", 1);
  assert.deepEqual(shown(record()), [101, 1, [[1, 101, true]]]);
  spawner.exit("job", 0);
  const { status, code } = record();
  assert.deepEqual([...(shown(record()) as unknown[]), status, code], [undefined, 3, undefined, "errored", 1]);
});

test("2.7 a record is made anew when an earlier run changes, and is the same object otherwise", () => {
  const { spawner, begin, record } = setup();
  begin("job");
  begin("job:2");
  const before = record();
  assert.equal(record(), before);
  spawner.exit("job", 0);
  assert.notEqual(record(), before);
});

test("2.7 without overrun the record has no list of runs", () => {
  const { begin, record } = setup(false);
  begin("job");
  assert.deepEqual(shown(record()), [101, 1, undefined]);
});

test("2.7 a record has the usage of its present run alone, not that of the run before", () => {
  const { spawner, begin, record } = setup(false);
  begin("job");
  assert.equal(record().memoryBytes, 7, "pid 101 was sampled");
  spawner.exit("job", 0);
  begin("job");
  assert.deepEqual([record().pid, record().memoryBytes], [102, undefined]);
});

test("a slot and its record get the same verdicts, where both have one of that name", () => {
  const [base, ending] = [{ run: 1, restarts: 0 }, { kind: "exited", code: 1, signal: null } satisfies ExitInfo];
  const states: readonly SlotState[] = [
    { ...base, status: "idle", outcome: { kind: "never-started" } },
    { ...base, status: "idle", outcome: { kind: "stopped" } },
    { ...base, status: "idle", outcome: { kind: "finished", ending } },
    { ...base, status: "idle", outcome: { kind: "failed", ending } },
    { ...base, status: "idle", outcome: { kind: "exhausted", ending } },
    { ...base, status: "waiting" },
    { ...base, status: "starting" },
    { ...base, status: "running", pid: 7, since: 1, ready: true },
    { ...base, status: "stopping", phase: "kill", next: "idle", cause: "operator", pid: 7, started: 1, since: 1 },
    { ...base, status: "backoff", until: 1, ending },
  ];
  const { isStoppedFor: _, ...ofSlots } = slotVerdicts;
  const ofRecords: Readonly<Record<string, (record: Parameters<typeof recordVerdicts.isRunning>[0]) => boolean>> =
    recordVerdicts;
  const shared = Object.entries(ofSlots).filter(([name]) => Object.hasOwn(ofRecords, name));
  assert.ok(shared.length >= 8, `${shared.length}`);
  for (const [name, holds] of shared)
    for (const state of states)
      assert.equal(ofRecords[name]?.({ status: statusOf(state) }), holds(state), `${name}: ${statusOf(state)}`);
});

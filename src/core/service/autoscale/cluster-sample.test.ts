import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessRecord } from "../../contract/records.ts";
import { memoryOwed, sampleOf } from "./cluster-sample.ts";

const WALL = Date.parse("2026-11-27T12:00:00Z");
const CONTEXT = { at: 5_000, wall: WALL, freeBytes: 1_000 };
const TARGETS = ["cpu", "connections", "metric:queue"].map((name) => ({ name, limit: 10 }));
const secondsAgo = (seconds: number): string => new Date(WALL - seconds * 1_000).toISOString();

function instance(more: Partial<ProcessRecord> & { readonly connections?: number; readonly accepting?: boolean } = {}) {
  const { connections = 0, accepting = true, ...rest } = more;
  const record = { id: "web-1", status: "running", ready: true, restarts: 0, started: secondsAgo(600), ...rest };
  return { ...record, backend: { connections, accepting } };
}

function sample(instances: readonly object[], targets = TARGETS, waiting = 0) {
  const record = { id: "web", type: "cluster", instances, balancer: { waiting } } as unknown as ProcessRecord;
  return sampleOf(record, targets, CONTEXT);
}

const report = (queue: number, age = 5) => ({
  process: "web-1",
  sent: secondsAgo(age),
  memory: {},
  metrics: { queue },
});

test("loads are sums over the instances that serve; one without a value is taken to have the mean", () => {
  const found = sample([
    instance({ cpuPercent: 80, connections: 3 }),
    instance({ cpuPercent: 40, connections: 5 }),
    instance({ connections: 7 }),
    instance({ cpuPercent: 90, connections: 9, ready: false }),
    instance({ cpuPercent: 90, connections: 9, accepting: false }),
    instance({ cpuPercent: 90, connections: 9, status: "stopping" }),
  ]);
  assert.deepEqual([found.instances, found.serving, found.at], [6, 3, 5_000]);
  assert.deepEqual(
    [...found.loads],
    [
      ["cpu", 180],
      ["connections", 15],
    ],
  );
});

test("numbers that programs report count while they are fresh", () => {
  const queue = [{ name: "metric:queue", limit: 10 }];
  assert.deepEqual([...sample([instance({ telemetry: report(4) } as never)], queue).loads], [["metric:queue", 4]]);
  assert.deepEqual([...sample([instance({ telemetry: report(4, 61) } as never)], queue).loads], []);
});

test("the target waiting needs the connections, too", () => {
  const found = sample([instance({ connections: 20 })], [{ name: "waiting", limit: 1 }], 4);
  assert.deepEqual(
    [...found.loads],
    [
      ["waiting", 4],
      ["connections", 20],
    ],
  );
});

test("a cluster that sleeps has no load, so that it wakes with as few instances as it needs", () => {
  const found = sample([instance({ status: "asleep" }), instance({ status: "asleep" })]);
  assert.deepEqual([found.instances, found.serving, [...found.loads.values()]], [2, 2, [0, 0, 0]]);
});

test("memory is what one instance uses on average, and what is free", () => {
  const found = sample([instance({ memoryBytes: 100 }), instance({ memoryBytes: 300 }), instance()]);
  assert.deepEqual(found.memory, { freeBytes: 1_000, instanceBytes: 200 });
  assert.equal(sample([instance()]).memory, undefined);
});

test("what young instances have yet to take is not free, and what they have taken so far is no measure", () => {
  const young = { started: secondsAgo(5) };
  const found = sample([instance({ memoryBytes: 300 }), instance({ memoryBytes: 100, ...young }), instance(young)]);
  assert.deepEqual(found.memory, { freeBytes: 500, instanceBytes: 300 });
  assert.deepEqual(sample([instance({ memoryBytes: 80, ...young })]).memory, { freeBytes: 1_000, instanceBytes: 80 });
});

test("what a cluster has yet to take: the rest of young instances, and all of those that don't serve yet", () => {
  const owed = (...instances: readonly object[]) =>
    memoryOwed({ id: "web", instances } as unknown as ProcessRecord, WALL);
  const settled = instance({ memoryBytes: 300 });
  assert.equal(owed(settled, instance({ memoryBytes: 100, started: secondsAgo(5) })), 200);
  assert.equal(owed(settled, instance({ status: "starting" })), 300);
  assert.equal(owed(settled), 0);
  assert.equal(owed(instance({ status: "stopped" })), 0);
});

test("an instance fails that is down by a failure, or was restarted and doesn't stay up", () => {
  const failing = (more: Partial<ProcessRecord>) => sample([instance(), instance({ id: "web-2", ...more })]).failing;
  assert.equal(failing({ status: "backoff" }), "web-2");
  assert.equal(failing({ status: "errored" }), "web-2");
  assert.equal(failing({ restarts: 1, ready: false }), "web-2");
  assert.equal(failing({ restarts: 2, started: secondsAgo(20) }), "web-2");
  assert.equal(failing({ restarts: 2, started: secondsAgo(61) }), undefined);
  assert.equal(failing({ restarts: 1, started: secondsAgo(2) }), undefined, "a single restart");
  assert.equal(failing({ status: "starting", ready: false }), undefined);
  assert.equal(failing({ status: "stopped" }), undefined);
});

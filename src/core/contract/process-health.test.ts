/** Which processes count as up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allRun, serves } from "./process-health.ts";
import { type ProcessRecord, STATUSES, type Status } from "./records.ts";

function record(id: string, status: Status, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return { id, type: "process", status, blocked: false, restarts: 0, reason: "", ...more } as ProcessRecord;
}

function cluster(...instances: readonly ProcessRecord[]): ProcessRecord {
  return record("pair", "mixed", { type: "cluster", instances });
}

const NAMED = { named: true, checks: false };
const ALL = { named: false, checks: false };

test("a named process must run; of all, those that were asked for and haven't finished or been stopped", () => {
  for (const status of STATUSES) {
    if (status === "mixed") continue;
    const records = [record("web", "running"), record("job", status)];
    assert.equal(allRun(records, NAMED), ["running", "asleep"].includes(status), status);
    assert.equal(
      allRun(records, ALL),
      ["running", "created", "finished", "stopped", "stopping", "asleep"].includes(status),
      status,
    );
  }
  assert.ok(allRun([], ALL));
});

test("of a cluster each instance counts", () => {
  const half = cluster(record("pair-1", "running"), record("pair-2", "backoff"));
  assert.ok(!allRun([half], NAMED) && !allRun([half], ALL));
  const whole = cluster(record("pair-1", "running"), record("pair-2", "running"));
  assert.ok(allRun([whole], NAMED) && allRun([whole], ALL));
});

test("with checks a running process must also be ready and healthy", () => {
  for (const more of [{ ready: false }, { healthy: false }]) {
    const records = [record("web", "running", more)];
    assert.ok(allRun(records, NAMED));
    assert.ok(!allRun(records, { ...NAMED, checks: true }) && !allRun(records, { ...ALL, checks: true }));
  }
  assert.ok(allRun([record("web", "running", { ready: true, healthy: true })], { ...NAMED, checks: true }));
});

test("a cluster serves with one instance; all serve if each that was asked for does", () => {
  const pair = cluster(record("pair-1", "running", { ready: true }), record("pair-2", "backoff"));
  assert.deepEqual(
    ["pair", "pair-1", "pair-2", "nobody"].map((id) => serves([pair], id)),
    [true, true, false, false],
  );
  assert.ok(serves([pair, record("job", "finished"), record("manual", "created")], "all"));
  for (const down of [
    record("web", "errored"),
    record("web", "running", { ready: false }),
    cluster(record("a-1", "backoff")),
  ])
    assert.ok(!serves([pair, down], "all"));
});

test("what sleeps serves its next client, unless nothing may wake it", () => {
  const asleep = record("web", "asleep");
  assert.ok(
    serves([asleep], "web") && serves([cluster(asleep)], "pair") && allRun([asleep], { named: true, checks: true }),
  );
  for (const more of [{ blocked: true }, { disabled: true }] as const) {
    const held = record("web", "asleep", more);
    assert.deepEqual([serves([held], "web"), allRun([held], NAMED)], [false, false]);
  }
});

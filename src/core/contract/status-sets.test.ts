import assert from "node:assert/strict";
import { test } from "node:test";
import { STATUSES, type Status } from "./records.ts";
import * as verdicts from "./status-sets.ts";

/** All verdicts that hold for a record without problems of this status. */
const HOLD: Readonly<Record<Status, readonly string[]>> = {
  created: ["isAboutToRun", "wasNeverStarted"],
  waiting: ["isMissing", "isStoppable", "isWaiting"],
  skipped: ["isMissing", "isSkipped"],
  starting: ["hasCurrentRun", "isAboutToRun", "isMissing", "isStartingOrRunning", "isStoppable"],
  running: ["hasCurrentRun", "isRunning", "isStartingOrRunning", "isStoppable", "isUp"],
  stopping: ["hasCurrentRun", "isStoppable", "isStopping"],
  backoff: ["isDownByFailure", "isInBackoff", "isMissing", "isStoppable"],
  stopped: [],
  asleep: ["isAsleep", "isStoppable"],
  finished: ["hasFinished"],
  errored: ["hasFailed", "isDownByFailure", "isMissing"],
  exhausted: ["hasFailed", "isDownByFailure", "isExhausted", "isMissing"],
  mixed: ["hasCurrentRun", "isMixed", "isStoppable"],
};

for (const status of STATUSES)
  test(`the verdicts on a record that is ${status}`, () => {
    const found = Object.entries(verdicts).flatMap(([name, holds]) => (holds({ status }) ? [name] : []));
    assert.deepEqual(found.sort(), HOLD[status]);
  });

test("a process that runs is up only when it is ready and healthy, else it is impaired", () => {
  for (const condition of [{ ready: false }, { healthy: false }, { ready: true, healthy: false }]) {
    const record = { status: "running", ...condition } as const;
    assert.deepEqual([verdicts.isUp(record), verdicts.isImpaired(record)], [false, true], JSON.stringify(condition));
  }
  assert.equal(verdicts.isImpaired({ status: "running", ready: true, healthy: true }), false);
  assert.equal(verdicts.isImpaired({ status: "stopped", ready: false }), false);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessRecord } from "../../contract/records.ts";
import { clusterOf } from "./process-records.ts";

const instance = (more: Partial<ProcessRecord>): ProcessRecord =>
  ({
    id: "web-1",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "runs",
    ready: true,
    ...more,
  }) as ProcessRecord;

test("a cluster is ready when one of its instances is, and says how many are", () => {
  const [ready, unready, stopped] = [
    instance({}),
    instance({ ready: false }),
    instance({ status: "stopped", ready: undefined as never }),
  ];
  const of = (...instances: readonly ProcessRecord[]) => {
    const { ready: isReady, reason } = clusterOf("web", instances);
    return [isReady, reason];
  };
  assert.deepEqual(of(ready, ready), [true, "2 of 2 instances are running"]);
  assert.deepEqual(of(ready, stopped), [true, "1 of 2 instances are running"]);
  assert.deepEqual(of(ready, unready, unready), [true, "3 of 3 instances are running, 1 of them ready"]);
  assert.deepEqual(of(unready, unready), [false, "2 of 2 instances are running, none of them ready"]);
  assert.deepEqual(of(stopped), [undefined, "0 of 1 instances are running"]);
});

test("a cluster has the limits of its instances together, as it has what they use; none if one of them has none", () => {
  const limited = instance({ cpuLimitPercent: 50, memoryLimitBytes: 100e6 });
  const limitsOf = (...instances: readonly ProcessRecord[]) => {
    const { cpuLimitPercent, memoryLimitBytes } = clusterOf("web", instances);
    return [cpuLimitPercent, memoryLimitBytes];
  };
  assert.deepEqual(limitsOf(limited, limited), [100, 200e6]);
  assert.deepEqual(limitsOf(limited, instance({ cpuLimitPercent: 50 })), [100, undefined]);
});

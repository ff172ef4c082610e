import assert from "node:assert/strict";
import { test } from "node:test";
import { specsOf } from "../../../../test/support/service-fakes.ts";
import { ProcessBus } from "../process-bus.ts";
import { memoryLimitOf } from "../reporting/process-records.ts";
import { excess, MemoryLimitWatch } from "./memory-limit.ts";

test("the message has both figures where RSS is another one", () => {
  assert.equal(excess(100e6, 120_340_000, 171e6), "120.3 MB, more than its 100 MB; RSS: 171 MB");
  assert.equal(excess(100e6, 120e6, undefined), "120 MB, more than its 100 MB");
});

test("without `memoryLimit`, `memoryMax` is watched: there may be no cgroup", () => {
  assert.deepEqual(
    [memoryLimitOf({}), memoryLimitOf({ memoryMax: 7 }), memoryLimitOf({ memoryLimit: 5, memoryMax: 7 })],
    [undefined, 7, 5],
  );
});

test("three samples in a row of the same run exceed the limit; those of the run before don't count", () => {
  const faults: string[] = [];
  const report = (slot: string, { fault }: { readonly fault: string }): number => faults.push(`${slot}: ${fault}`);
  const supervisor = { processes: [{ id: "web", runs: [{ slot: "web", run: 1 }], report }] };
  const bus = new ProcessBus(assert.fail);
  const specs = specsOf([{ id: "web", memoryLimit: 10 }]);
  new MemoryLimitWatch({ bus, specs, supervisor } as never, { setProblem: () => undefined });
  const sample = (pid: number, memoryBytes: number): void => {
    const sampled = { cpuPercent: 0, memoryBytes, processes: 1, cpuSeconds: 0, leaders: [pid] };
    bus.samples.publish({ samples: new Map([["web", sampled]]), at: 0 });
  };
  for (const pid of [1, 1, 2, 2]) sample(pid, 11);
  sample(2, 9);
  for (const pid of [2, 2]) sample(pid, 11);
  assert.deepEqual(faults, []);
  sample(2, 11);
  assert.deepEqual(faults, ["web: memory"]);
});

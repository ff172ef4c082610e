import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryLimitOf } from "../reporting/process-records.ts";
import { excess } from "./memory-limit.ts";

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

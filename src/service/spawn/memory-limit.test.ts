import assert from "node:assert/strict";
import { test } from "node:test";
import { limitOf } from "./memory-limit.ts";

test("without `memoryLimit`, `memoryMax` is watched: there may be no cgroup", () => {
  assert.deepEqual([limitOf({}), limitOf({ memoryMax: 7 }), limitOf({ memoryLimit: 5, memoryMax: 7 })], [undefined, 7, 5]);
});

/** The service is killed at every step of a reload, a rolling restart and a scaling; more of them in `test/model-wide`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRollouts, walkRollouts } from "./rollout-model.ts";

checkRollouts([1, 2, 7], 2);

test("the check itself finds a rolling restart that the next service doesn't continue", async (context) => {
  const fault = { lost: ":rolls", limitMs: 1_000 };
  await assert.rejects(walkRollouts(context, { seed: 1, operations: 4, fault }), /it has no end: .*restart.*killed/s);
});

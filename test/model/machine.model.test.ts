/** Check of the machine of a slot with some policies; with more in `test/model-wide`, with all in `test/long`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allPolicies, checkSlot } from "./slot-model.ts";

/** No number of values of a part is a multiple of it, so each value is tried with most of the others. */
const STEP = 29;

test("3 the machine of a slot, with each twenty-ninth policy, reaches no state with two children, without a target for a signal, that hangs or that can't be stopped", () => {
  const policies = allPolicies().filter((_, index) => index % STEP === 0);
  const states = policies.reduce((sum, policy) => sum + checkSlot(policy).states, 0);
  assert.ok(policies.length === 30 && states > 1_000, `${policies.length} policies, ${states} states`);
});

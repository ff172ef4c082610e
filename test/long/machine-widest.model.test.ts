/** As `test/model/machine.model.test.ts`, with all policies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allPolicies, checkSlot } from "../model/slot-model.ts";

test("3 the machine of a slot reaches no state with two children, without a target for a signal, that hangs or that can't be stopped", () => {
  const policies = allPolicies();
  const states = policies.reduce((sum, policy) => sum + checkSlot(policy).states, 0);
  // Fewer states would mean that the check misses a part of the machine.
  assert.ok(policies.length === 864 && states > 10_000, `${policies.length} policies, ${states} states`);
});

/** Fifty checkouts of one project, as with agents that each have a worktree. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkouts, startTogether } from "../support/checkout-rig.ts";

test("fifty checkouts that start at once have a hundred different ports, and the same ones when all start again", async (context) => {
  const all = checkouts(context, 50);
  await startTogether(all);
  const before = all.map(({ ports }) => ports);
  await Promise.all(all.map((checkout) => checkout.cli("terminate")));
  await startTogether(all);
  assert.deepEqual(
    all.map(({ ports }) => ports),
    before,
  );
});

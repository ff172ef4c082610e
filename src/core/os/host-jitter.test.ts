import assert from "node:assert/strict";
import { test } from "node:test";
import { jitterFraction } from "./host-jitter.ts";

test("the share of a name is always the same, and those of different names are spread evenly", () => {
  const shares = Array.from({ length: 1_000 }, (_, index) => jitterFraction(`web-${index}`));
  assert.deepEqual(
    shares,
    shares.map((_, index) => jitterFraction(`web-${index}`)),
  );
  assert.ok(shares.every((share) => share >= 0 && share < 1));
  const tenths = Array.from(
    { length: 10 },
    (_, tenth) => shares.filter((share) => Math.floor(share * 10) === tenth).length,
  );
  assert.ok(Math.min(...tenths) > 50 && Math.max(...tenths) < 150, tenths.join(" "));
});

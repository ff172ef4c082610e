import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenBucket } from "./token-bucket.ts";

test("as much as the burst can be taken at once, then as much as has refilled", () => {
  const bucket = new TokenBucket({ burst: 3, perSecond: 2 }, 0);
  for (let index = 0; index < 3; index++) {
    assert.equal(bucket.waitMs(1, 0), 0);
    bucket.take(1);
  }
  assert.equal(bucket.waitMs(1, 0), 500);
  assert.equal(bucket.waitMs(1, 250), 250);
  assert.equal(bucket.waitMs(1, 500), 0);
});

test("it refills up to the burst, and what is given back doesn't exceed it", () => {
  const bucket = new TokenBucket({ burst: 3, perSecond: 2 }, 0);
  bucket.take(1);
  bucket.take(-5);
  assert.equal(bucket.waitMs(3, 60_000), 0);
  bucket.take(3);
  assert.equal(bucket.waitMs(2, 60_000), 1_000);
});

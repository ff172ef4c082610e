/** Times of day from monotonic times. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toIsoTime, WallClock } from "./wall-clock.ts";

test("2.7 a time is the same to the millisecond however often it is asked for", () => {
  const at = process.hrtime()[0] * 1_000;
  const first = toIsoTime(at);
  for (const until = performance.now() + 20; performance.now() < until; ) assert.equal(toIsoTime(at), first);
});

test("2.7 a slowly corrected clock changes no reported time, a clock that is set changes all", () => {
  let [now, ahead, slow] = [5_000, 1_000_000, 0];
  const clock = {
    now: () => {
      now += slow;
      return now;
    },
    wall: () => Math.floor(now + ahead),
  };
  const times = new WallClock(clock, ahead);
  const told = times.time(4_000);
  assert.equal(told, new Date(1_004_000).toISOString());
  ahead += 45;
  assert.equal(times.time(4_000), told);
  ahead += 3_600_000;
  slow = 50;
  assert.equal(times.time(4_000), told, "what was measured while the machine did something else counts for nothing");
  slow = 0;
  assert.equal(times.time(4_000), new Date(1_004_045 + 3_600_000).toISOString());
});

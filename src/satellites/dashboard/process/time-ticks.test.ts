/** Labels of a time axis. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timeTicks } from "./time-ticks.ts";

const at = (hours: number, minutes = 0, seconds = 0): number =>
  new Date(2026, 10, 27, hours, minutes, seconds).getTime() / 1_000;

test("labels are at round times of the clock, no more than there is room for", () => {
  assert.deepEqual(timeTicks(at(14, 3, 10), at(14, 8, 10), 6), {
    step: 60,
    times: [at(14, 4), at(14, 5), at(14, 6), at(14, 7)],
  });
  assert.deepEqual(
    timeTicks(at(14, 3, 10), at(14, 3, 50), 5).times,
    [10, 20, 30, 40].map((second) => at(14, 3, second)),
  );
  assert.equal(timeTicks(at(0), at(24), 4).step, 6 * 3_600);
  assert.deepEqual(timeTicks(at(1), at(24), 4).times, [at(6), at(12), at(18)]);
  for (const hours of [0.1, 1, 6, 24, 168, 2_000])
    for (const most of [1, 3, 8, 14]) {
      const { times } = timeTicks(at(0), at(0) + hours * 3_600, most);
      assert.ok(times.length <= most + 1, `${times.length} of ${most} in ${hours} h`);
    }
});

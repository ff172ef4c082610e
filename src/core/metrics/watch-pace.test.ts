/** When samples are taken for clients that ask for metrics. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchPace } from "./watch-pace.ts";

/** Times of samples until `end`, with requests at these times. The first sample is that of the first request. */
function samplesOf(requests: readonly number[], end: number, shortest = 1_000): readonly number[] {
  const pace = new WatchPace();
  const samples: number[] = [];
  let due = Number.POSITIVE_INFINITY;
  for (let now = 0; now < end; now += 100) {
    if (now >= due) {
      samples.push(now);
      due = now + (pace.dueIn(now, shortest) ?? Number.POSITIVE_INFINITY);
    }
    if (!requests.includes(now)) continue;
    pace.asked(now);
    due = Math.min(due, now + (pace.dueIn(now, shortest) ?? Number.POSITIVE_INFINITY));
  }
  return samples;
}

const every = (ms: number, count: number): readonly number[] => Array.from({ length: count }, (_, index) => index * ms);

test("a first request means samples each second, for ten seconds", () => {
  assert.deepEqual(
    samplesOf([0], 20_000),
    [700, 1_700, 2_700, 3_700, 4_700, 5_700, 6_700, 7_700, 8_700, 9_700, 10_700],
  );
});

test("a client that asks each 5 s gets one sample for each request, shortly before it", () => {
  assert.deepEqual(
    samplesOf(every(5_000, 6), 30_000).filter((at) => at > 6_000),
    [9_700, 14_700, 19_700, 24_700, 29_700],
  );
});

test("several requests at once are one; of two clients the faster counts", () => {
  const pairs = every(5_000, 6).flatMap((at) => [at, at + 100]);
  assert.equal(samplesOf(pairs, 30_000).filter((at) => at > 6_000).length, 5);
  assert.deepEqual(
    samplesOf(every(1_000, 20), 20_000).filter((at) => at > 15_000),
    [15_700, 16_700, 17_700, 18_700, 19_700],
  );
});

test("where samples are expensive their pauses are longer than the clients'", () => {
  const samples = samplesOf(every(1_000, 30), 30_000, 4_000);
  for (const [index, at] of samples.slice(1).entries()) assert.ok(at - (samples[index] ?? 0) >= 2_000, String(samples));
});

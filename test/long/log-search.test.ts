/** A search in ten million stored lines (issue 9). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readLogs } from "../../src/core/log-store/log-pages.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { stateDir, TestStore, WEB } from "../support/store-rig.ts";

const LINES = 10_000_000;
const BATCH = 1_000;
/** Milliseconds. */
const LIMIT_MS = 500;

/** Each thousandth line has the word `often`, each millionth `rare`. */
function line(number: number): string {
  const words = `${number % 1_000 === 7 ? " often" : ""}${number % 1_000_000 === 5 ? " rare" : ""}`;
  return `GET /cart/${number} 200 ${(number * 7_919) % 997} ms${words}`;
}

test("the first page of a search in ten million lines comes within half a second, however many lines have the text", async (context) => {
  const folder = stateDir(context);
  const store = new TestStore(folder, { hours: 24, bytes: 2e9 });
  for (let from = 0; from < LINES; from += BATCH) {
    store.lines(WEB, ...Array.from({ length: BATCH }, (_, index) => line(from + index)));
    await store.settled();
  }
  assert.deepEqual(store.reports, []);
  for (const [search, count] of [
    ["often", 500],
    ["rare", 10],
    ["nowhere", 0],
  ] as const) {
    const took: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const began = performance.now();
      const { entries } = await readLogs(folder, { search, limit: 500 });
      took.push(performance.now() - began);
      assert.equal(entries.length, count);
      assert.ok(entries.every(({ text }) => text.endsWith(search)));
    }
    assertWithin(LIMIT_MS, Math.min(...took), `a search for "${search}" (of ${took.map(Math.round)})`);
  }
});

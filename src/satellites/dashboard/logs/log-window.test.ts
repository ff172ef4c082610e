/** The window over the log: what is kept, and where the rest continues. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../../../core/contract/records.ts";
import {
  appended,
  EMPTY_WINDOW,
  type LogWindow,
  linesOf,
  newerCursor,
  olderCursor,
  prepended,
} from "../model/log-window.ts";
import { RowHeights, wrappedRows } from "../model/row-heights.ts";
import { hitsIn, nextHit } from "../parts/log-search.ts";

const entries = (from: number, count: number): LogEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    time: "2026-01-01T00:00:00Z",
    severity: "info",
    category: "stdout",
    text: String(from + index),
  }));

function texts(window: LogWindow): readonly string[] {
  return linesOf(window).map(({ entry }) => entry.text);
}

test("lines are added at both ends, and keep keys without a gap", () => {
  const first = appended(EMPTY_WINDOW, { entries: entries(100, 3), start: "s100", end: "e102" }).window;
  const more = appended(first, { entries: entries(103, 2), end: "e104" }).window;
  const whole = prepended(more, { entries: entries(98, 2), start: "s98" });
  assert.deepEqual(texts(whole), ["98", "99", "100", "101", "102", "103", "104"]);
  const keys = linesOf(whole).map(({ key }) => key);
  assert.deepEqual(
    keys,
    Array.from(keys, (_, index) => (keys[0] ?? 0) + index),
  );
  assert.deepEqual([olderCursor(whole), newerCursor(whole), whole.hasOlder], ["s98", "e104", true]);
  assert.equal(prepended(whole, { entries: [] }).hasOlder, false, "the beginning of the log");
});

test("a full window drops whole pages at the other end, and continues there without gap or repeat", () => {
  let window = EMPTY_WINDOW;
  let lost = 0;
  for (let from = 0; from < 10_000; from += 500) {
    const added = appended(window, { entries: entries(from, 500), start: "start", end: `after ${from + 499}` }, 3_000);
    window = added.window;
    lost += added.dropped;
  }
  assert.ok(window.size <= 3_000 && window.size + lost === 10_000);
  assert.deepEqual([texts(window)[0], olderCursor(window), window.hasOlder], [String(lost), `after ${lost - 1}`, true]);
  const before = prepended(window, { entries: entries(lost - 500, 500), start: `before ${lost - 500}` }, 3_000);
  const last = Number(texts(before).at(-1));
  assert.deepEqual([before.size <= 3_000, newerCursor(before)], [true, `after ${last}`]);
});

test("rows of different heights are found by their position", () => {
  const heights = new RowHeights([10, 30, 20]);
  assert.deepEqual(
    [-5, 0, 9, 10, 39, 40, 59, 500].map((position) => heights.at(position)),
    [0, 0, 0, 1, 1, 2, 2, 2],
  );
  assert.deepEqual([heights.top(1), heights.top(9), heights.total], [10, 60, 60]);
  assert.deepEqual([new RowHeights([]).at(5), new RowHeights([]).total], [0, 0]);
  assert.deepEqual([wrappedRows("", 10), wrappedRows("a".repeat(21), 10), wrappedRows("漢".repeat(10), 10)], [1, 3, 2]);
  assert.equal(wrappedRows("a".repeat(1_000), 10, 95), 10);
});

test("hits are found in both directions", () => {
  const lines = ["a", "Time", "b", "time"];
  assert.deepEqual(
    [nextHit(lines, "time", 0, 1), nextHit(lines, "time", 1, 1), nextHit(lines, "time", 3, -1)],
    [1, 3, 1],
  );
  assert.deepEqual([nextHit(lines, "time", 3, 1), nextHit(lines, "", 0, 1)], [undefined, undefined]);
  assert.deepEqual(hitsIn("aXax", "x"), [
    { from: 1, to: 2 },
    { from: 3, to: 4 },
  ]);
});

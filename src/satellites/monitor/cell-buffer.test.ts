/** Text in cells. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { CellBuffer } from "./cell-buffer.ts";
import { loadWidths } from "./text-clusters.ts";

before(loadWidths);

test("text that has no room ends with an ellipsis, also if half a wide character would fit", () => {
  const cells = new CellBuffer({ columns: 6, rows: 4 });
  assert.equal(cells.put("running", { column: 0, row: 0 }), 6);
  assert.equal(cells.put("abcdef", { column: 0, row: 1 }), 6);
  cells.put("日本語日", { column: 0, row: 2 });
  cells.put("abcdef", { column: 1, row: 3, room: 3 });
  assert.deepEqual(
    [0, 1, 2, 3].map((row) => cells.line(row)),
    ["runni…", "abcdef", "日本… ", " ab…  "],
  );
});

test("text outside of the screen is left out", () => {
  const cells = new CellBuffer({ columns: 2, rows: 1 });
  for (const [column, row] of [
    [2, 0],
    [0, 1],
    [0, -1],
    [-1, 0],
  ] as const)
    assert.equal(cells.put("x", { column, row }), column);
  assert.equal(cells.line(0), "  ");
});

test("a wide character that is written over in its half leaves a blank", () => {
  const cells = new CellBuffer({ columns: 5, rows: 1 });
  cells.put("日本", { column: 0, row: 0 });
  cells.put("x", { column: 1, row: 0 });
  assert.deepEqual(cells.texts, [" ", "x", "本", "", " "]);
  cells.put("語", { column: 1, row: 0 });
  assert.deepEqual(cells.texts, [" ", "語", "", " ", " "]);
});

test("a line of ten megabytes is written as quickly as a short one", () => {
  const cells = new CellBuffer({ columns: 200, rows: 1 });
  const began = process.cpuUsage();
  cells.put("日".repeat(10_000_000), { column: 0, row: 0 });
  const { user, system } = process.cpuUsage(began);
  assert.ok(user + system < 1_000_000);
  assert.ok(cells.line(0).endsWith("日… ") || cells.line(0).endsWith("日…"));
});

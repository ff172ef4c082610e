/** Times that people type. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { typedTime } from "./typed-time.ts";

const NOW = new Date(2026, 10, 27, 14, 30).getTime();

test("a time with a date is that time, one without is the last such time, by a clock of 24 hours", () => {
  assert.equal(typedTime("2026-11-26 14:03", NOW), new Date(2026, 10, 26, 14, 3).getTime());
  assert.equal(typedTime("2026-11-26T14:03:27", NOW), new Date(2026, 10, 26, 14, 3, 27).getTime());
  assert.equal(typedTime("14:03", NOW), new Date(2026, 10, 27, 14, 3).getTime());
  assert.equal(typedTime("9:05:01", NOW), new Date(2026, 10, 27, 9, 5, 1).getTime());
  assert.equal(typedTime("23:59", NOW), new Date(2026, 10, 26, 23, 59).getTime(), "yesterday");
});

test("what is no time is refused", () => {
  for (const text of ["", "now", "24:00", "12:60", "2026-02-31 10:00", "2026-13-01 10:00", "2:03 pm"])
    assert.equal(typedTime(text, NOW), undefined, text);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../../core/base/errors.ts";
import { timeOf } from "./format.ts";

const NOW = new Date(2026, 10, 21, 15, 30, 20, 500).getTime();
const at = (...parts: [number, number, number, number?, number?, number?, number?]): number =>
  new Date(...parts).getTime();

const CASES: readonly (readonly [string, number])[] = [
  ["10m", NOW - 600_000],
  ["1h30m", NOW - 5_400_000],
  ["1h 30m ago", NOW - 5_400_000],
  ["1.5h", NOW - 5_400_000],
  ["90s", NOW - 90_000],
  ["2d", NOW - 172_800_000],
  ["1w", NOW - 604_800_000],
  ["now", NOW],
  ["today", at(2026, 10, 21)],
  ["yesterday", at(2026, 10, 20)],
  ["9:05", at(2026, 10, 21, 9, 5)],
  ["14:30:10", at(2026, 10, 21, 14, 30, 10)],
  ["2026-11-20", at(2026, 10, 20)],
  ["2026-11-20 08:15", at(2026, 10, 20, 8, 15)],
  ["2026-11-20T08:15:30.250", at(2026, 10, 20, 8, 15, 30, 250)],
  ["2026-11-20T08:15:30Z", Date.UTC(2026, 10, 20, 8, 15, 30)],
  ["2026-11-20T08:15+02:00", Date.UTC(2026, 10, 20, 6, 15)],
  ["2024-02-29", at(2024, 1, 29)],
];

for (const [text, expected] of CASES)
  test(`the time ${JSON.stringify(text)} is read`, () => {
    assert.equal(timeOf("--since", text, NOW), expected);
  });

for (const text of [
  "",
  " ",
  "soon",
  "10",
  "10x",
  "-10m",
  "25:00",
  "14:60",
  "2026-13-01",
  "2026-02-30",
  "2025-02-29",
  "2026-11-20 8",
  "2026-11-20T08:15X",
  "ago",
])
  test(`${JSON.stringify(text)} is not a time, and valid forms are listed`, () => {
    assert.throws(
      () => timeOf("--until", text, NOW),
      (error) =>
        error instanceof ProcmanError &&
        error.exitCode === 64 &&
        /^Cannot read --until .*10m.*yesterday.*ISO 8601$/.test(error.message),
    );
  });

test("yesterday is a calendar day, also when daylight saving changes", () => {
  const noon = at(2026, 2, 30, 12);
  assert.equal(timeOf("--since", "yesterday", noon), at(2026, 2, 29));
});

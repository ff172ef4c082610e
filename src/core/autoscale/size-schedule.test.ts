import assert from "node:assert/strict";
import { test } from "node:test";
import { boundsAt, type SizeSchedule } from "./size-schedule.ts";

const BOUNDS = { min: 2, max: 8 };
const morning: SizeSchedule = { pattern: "0 8 * * 1-5", timeZone: "UTC", min: 4 };
const evening: SizeSchedule = { pattern: "0 18 * * 1-5", timeZone: "UTC" };
const bounds = (time: string, schedules: readonly SizeSchedule[] = [morning, evening]) => {
  const { min, max, by, next } = boundsAt(BOUNDS, schedules, Date.parse(time));
  return [min, max, by?.pattern, next === undefined ? undefined : new Date(next.at).toISOString().slice(0, 16)];
};

test("a schedule sets the bounds from its time on, until another one does", () => {
  assert.deepEqual(bounds("2026-11-27T07:59:59.999Z"), [2, 8, "0 18 * * 1-5", "2026-11-27T08:00"]);
  assert.deepEqual(bounds("2026-11-27T08:00:00Z"), [4, 8, "0 8 * * 1-5", "2026-11-27T18:00"]);
  assert.deepEqual(bounds("2026-11-27T17:59:59Z"), [4, 8, "0 8 * * 1-5", "2026-11-27T18:00"]);
  assert.deepEqual(bounds("2026-11-28T12:00:00Z"), [2, 8, "0 18 * * 1-5", "2026-11-30T08:00"]);
});

test("what the next schedule sets is known before", () => {
  const next = (time: string, schedules: readonly SizeSchedule[]) => boundsAt(BOUNDS, schedules, Date.parse(time)).next;
  const at = Date.parse("2026-11-30T08:00:00Z");
  assert.deepEqual(next("2026-11-28T12:00:00Z", [morning, evening]), { at, min: 4, max: 8, timeZone: "UTC" });
  assert.deepEqual(next("2026-11-30T07:00:00Z", [morning, { ...morning, max: 3 }]), {
    at,
    min: 4,
    max: 3,
    timeZone: "UTC",
  });
  assert.deepEqual(next("2026-11-30T08:00:00Z", [morning, evening])?.min, 2);
});

test("of two schedules at the same time the one below counts", () => {
  const other = { ...morning, min: 6, max: 7 };
  assert.deepEqual(bounds("2026-11-27T09:00:00Z", [morning, other]).slice(0, 2), [6, 7]);
  assert.deepEqual(bounds("2026-11-27T09:00:00Z", [other, morning]).slice(0, 2), [4, 8]);
});

test("without schedules, and before the first time of one, the bounds of the cluster apply", () => {
  assert.deepEqual(bounds("2026-11-27T09:00:00Z", []), [2, 8, undefined, undefined]);
  const once = { pattern: "0 0 8 1 1 * 2030", timeZone: "UTC", min: 4 };
  assert.deepEqual(bounds("2026-11-27T09:00:00Z", [once]), [2, 8, undefined, "2030-01-01T08:00"]);
});

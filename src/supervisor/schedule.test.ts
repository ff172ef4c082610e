import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/fakes.ts";
import { nextTime, Schedule } from "./schedule.ts";

/** All times of a pattern between two moments, in the time zone of the host. */
function times(pattern: string, from: string, to: string): readonly string[] {
  const found: string[] = [];
  for (let next = nextTime(pattern, Date.parse(from)); next !== undefined && next < Date.parse(to); next = nextTime(pattern, next))
    found.push(new Date(next).toISOString());
  return found;
}

function inZone(zone: string, call: () => void): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    call();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

test("2.2 cron: patterns mean the time zone of the host", () => {
  inZone("Asia/Tokyo", () =>
    assert.deepEqual(times("0 9 * * *", "2026-06-01T00:00:00Z", "2026-06-02T12:00:00Z"), ["2026-06-02T00:00:00.000Z"]),
  );
});

test("2.2 cron: a time that daylight saving skips is met once that day, one that it doubles is met once", () => {
  inZone("Europe/Berlin", () => {
    // 2026-03-29: 02:00 is followed by 03:00. 2026-10-25: 03:00 is followed by 02:00.
    const spring = times("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z");
    assert.equal(spring.length, 2, spring.join(" "));
    const autumn = times("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
    assert.equal(autumn.length, 2, autumn.join(" "));
    const hourly = times("0 * * * *", "2026-03-28T23:30:00Z", "2026-03-29T04:30:00Z");
    assert.equal(hourly.length, 5, hourly.join(" "));
  });
});

test("2.2 cron: six fields have seconds in front; a pattern without a future has no next time", () => {
  assert.equal(times("*/20 * * * * *", "2026-06-01T00:00:00Z", "2026-06-01T00:01:01Z").length, 3);
  assert.equal(nextTime("0 0 30 2 *", Date.parse("2026-01-01")), undefined);
});

test("a schedule that is stopped calls no more and holds no timer", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const schedule = new Schedule("* * * * *", clock, { due: (planned) => seen.push(planned), moved: () => undefined });
  clock.advance(60_000);
  assert.equal(seen.length, 1);
  schedule.stop();
  clock.advance(300_000);
  assert.equal(seen.length, 1);
  assert.equal(clock.armed, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { hostStamp, hostTime, stamp } from "./time-stamp.ts";

const WINTER = Date.UTC(2026, 10, 21, 10, 0, 0, 7);
const SUMMER = Date.UTC(2026, 6, 1, 22, 30, 0, 0);

for (const [zone, winter, summer] of [
  ["UTC", "2026-11-21T10:00:00.007Z", "2026-07-01T22:30:00Z"],
  ["Europe/Berlin", "2026-11-21T11:00:00.007+01:00", "2026-07-02T00:30:00+02:00"],
  ["America/St_Johns", "2026-11-21T06:30:00.007-03:30", "2026-07-01T20:00:00-02:30"],
  ["Asia/Kolkata", "2026-11-21T15:30:00.007+05:30", "2026-07-02T04:00:00+05:30"],
] as const)
  test(`host time in ${zone} has its offset, and can be read again`, () => {
    process.env.TZ = zone;
    assert.equal(hostStamp(WINTER + 1 - 1), winter);
    assert.equal(hostTime(SUMMER), summer);
    assert.equal(Date.parse(winter), WINTER);
    assert.equal(Date.parse(summer), SUMMER);
    assert.equal(stamp(WINTER), "2026-11-21T10:00:00.007Z");
    // Another time: a stamp is kept for the millisecond.
    hostStamp(0);
  });

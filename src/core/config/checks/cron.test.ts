import assert from "node:assert/strict";
import { test } from "node:test";
import { cronProblem, nextRun, timeZoneProblem } from "./cron.ts";

const NOW = new Date(2026, 0, 15, 12, 0, 0);

for (const pattern of [
  "* * * * *",
  "*/5 9-17 * * MON-FRI",
  "30 0 3 * * *",
  "0 0 L * *",
  "0 0 29 2 *",
  "0 0 0 29 2 * 2028",
  "@daily",
  "0 0 * * 7",
]) {
  test(`2.2 cron: "${pattern}" is accepted`, () => assert.equal(cronProblem(pattern, NOW), undefined));
}

const REFUSED: Readonly<Record<string, RegExp>> = {
  "99 * * * *": /^The minute 99 is out of range \(0-59\)\.$/,
  "99 * * * * *": /^The second 99/,
  "0 24 * * *": /^The hour 24 is out of range \(0-23\)\.$/,
  "0 0 32 * *": /^The day of the month 32 is out of range \(1-31\)\.$/,
  "0 0 0 * *": /^The day of the month 0 /,
  "0 0 * 13 *": /^The month 13 is out of range \(1-12\)\.$/,
  "* * * * 9": /^The day of the week 9 /,
  "* *":
    /^It needs five fields .* six with seconds in front, or seven with the year behind them\. "\*\/5 \* \* \* \*" is every five minutes\.$/,
  "every 5 minutes": /^Write "\*\/5 \* \* \* \*"\.$/,
  "every hour": /^Write "0 \* \* \* \*"\.$/,
  "abc * * * *": /^Field 1 has characters that are not allowed: "abc"\.$/,
  "*/0 * * * *": /illegal stepping: 0\.$/,
  "@reboot": /"autostart"/,
  "0 0 30 2 *": /no time in the future/,
  "0 0 0 1 1 * 2020": /no time in the future/,
  "2030-01-01T00:00:00": /a date/,
};

for (const [pattern, reason] of Object.entries(REFUSED)) {
  test(`2.2 cron: "${pattern}" is refused with the reason in words`, () =>
    assert.match(cronProblem(pattern, NOW) ?? "", reason));
}

test("the next run is in the time zone of the host", () => {
  assert.deepEqual(nextRun({ pattern: "0 3 * * *" }, NOW), new Date(2026, 0, 16, 3, 0, 0));
});

test("the next run is in the time zone of the schedule", () => {
  assert.deepEqual(
    nextRun({ pattern: "0 3 * * *", timeZone: "Asia/Tokyo" }, new Date("2026-01-15T12:00:00Z")),
    new Date("2026-01-15T18:00:00Z"),
  );
});

test("a time zone is known by its name; a wrong one is answered with a near one", () => {
  for (const name of ["Europe/Berlin", "UTC", "Etc/GMT-2", "Asia/Kolkata"])
    assert.equal(timeZoneProblem(name), undefined, name);
  assert.equal(timeZoneProblem("Europe/Belin"), 'There is no such time zone. Did you mean "Europe/Berlin"?');
  assert.equal(timeZoneProblem("New York"), 'There is no such time zone. Did you mean "America/New_York"?');
  for (const name of ["+02:00", "Nowhere/At/All/Really"])
    assert.equal(timeZoneProblem(name), "There is no such time zone.", name);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextTime } from "../../core/supervisor/schedule.ts";
import { type CronFields, calendarExpressions, cronFields, fiveFields, longFields } from "./cron-pattern.ts";

const fieldsOf = (pattern: string): CronFields => cronFields(pattern) ?? assert.fail(`${pattern} is not understood`);

/** A value, a range or a step of a field, or a list of them. */
function field(first: number, last: number): fc.Arbitrary<string> {
  const number = fc.integer({ min: first, max: last });
  const range = fc.tuple(number, number).map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`);
  const item = fc.oneof(
    number.map(String),
    range,
    fc.tuple(range, fc.integer({ min: 1, max: 5 })).map(([text, step]) => `${text}/${step}`),
  );
  const step = fc.integer({ min: 1, max: last - first }).map((every) => `*/${every}`);
  return fc.oneof(
    fc.constant("*"),
    step,
    fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(",")),
  );
}

const PATTERN = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(" "));

function times(pattern: string): readonly (number | undefined)[] {
  const found: (number | undefined)[] = [];
  for (
    let from: number | undefined = Date.UTC(2026, 0, 1);
    from !== undefined && found.length < 20;
    from = found.at(-1)
  )
    found.push(nextTime({ pattern, timeZone: "UTC" }, from));
  return found;
}

test("five fields in numbers have the same times as the pattern", () => {
  fc.assert(
    fc.property(PATTERN, (pattern) => {
      assert.deepEqual(times(fiveFields(fieldsOf(pattern)) ?? ""), times(pattern));
    }),
    { numRuns: 150 },
  );
});

test("patterns with seconds, years, last days and numbered weekdays have no five fields, but seven", () => {
  const patterns = ["*/10 * * * * *", "0 0 3 1 1 * 2030", "0 3 L * *", "0 3 * * FRI#2", "0 3 * * 5L"];
  assert.deepEqual(
    patterns.map((pattern) => [fiveFields(fieldsOf(pattern)), longFields(fieldsOf(pattern))]),
    [
      [undefined, "0,10,20,30,40,50 * * * * * *"],
      [undefined, "0 0 3 1 1 * 2030"],
      [undefined, "0 3 L * *"],
      [undefined, "0 3 * * 5#2"],
      [undefined, "0 3 * * 5L"],
    ],
  );
  assert.equal(fiveFields(fieldsOf("0 30 3 * * *")), "30 3 * * *", "seconds that are 0 are left out");
  assert.equal(fiveFields(fieldsOf("@weekly")), "0 0 * * 0");
});

test("days of the month and of the week are alternatives in cron, so they become two expressions of systemd", () => {
  assert.deepEqual(calendarExpressions(fieldsOf("0 3 1,15 * FRI"), undefined), [
    "*-*-01,15 03:00:00",
    "Fri *-*-* 03:00:00",
  ]);
  assert.deepEqual(calendarExpressions(fieldsOf("*/20 9-17 * * 0-5"), "Europe/Berlin"), [
    "Mon..Fri,Sun *-*-* 09..17:00,20,40:00 Europe/Berlin",
  ]);
});

test("what systemd and others have no words for is not understood", () => {
  for (const pattern of ["0 3 15W * *", "0 3 * * MON,FRI#2", "0 3 1,L * *"])
    assert.equal(cronFields(pattern), undefined, pattern);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Lateness } from "./lateness.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");

test("stored lines are not late, however old they are and whatever the clock of their machine says", () => {
  for (const ahead of [-3_600_000, 0, 3_600_000]) {
    const lateness = new Lateness();
    for (let age = 20_000; age >= 0; age -= 1) assert.equal(lateness.isTooLate(NOW + ahead - age * 1_000, NOW), false);
  }
});

test("a flood is too late once many of its lines are shown seconds after they were written", () => {
  const lateness = new Lateness();
  let count = 0;
  while (!lateness.isTooLate(NOW + count, NOW + count * 2)) count += 1;
  assert.ok(count > 10_000 && count < 12_000, `${count}`);
});

test("few late lines, as after a lost connection, are all shown", () => {
  const lateness = new Lateness();
  lateness.isTooLate(NOW, NOW);
  for (let index = 0; index < 10_000; index += 1) assert.equal(lateness.isTooLate(NOW, NOW + 60_000), false);
  lateness.isTooLate(NOW + 61_000, NOW + 61_000);
  assert.equal(lateness.isTooLate(NOW + 61_000, NOW + 65_000), false);
});

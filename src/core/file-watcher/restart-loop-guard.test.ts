import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../test/support/fakes.ts";
import { RestartLoopGuard } from "./restart-loop-guard.ts";

function setup() {
  const clock = new FakeClock();
  const verdicts: string[] = [];
  let rests = 0;
  const guard = new RestartLoopGuard(clock, () => {
    rests += 1;
    // The process is started after a rest.
    if (writes) change(1_000);
  });
  let writes = false;
  const change = (afterMs: number): void => {
    clock.advance(afterMs);
    verdicts.push(guard.verdict(clock.now()));
  };
  /** Each start of the process changes a file a second later. */
  const loop = (most: number): void => {
    writes = true;
    for (let time = 0; time < most && (time === 0 || verdicts.at(-1) === "go"); time++) change(1_000);
  };
  return { clock, guard, verdicts, change, loop, rests: () => rests };
}

test("2.4 a process that changes its own watched files at each start is restarted ever later after six starts", () => {
  const { clock, verdicts, loop, rests } = setup();
  loop(100);
  assert.deepEqual(verdicts, ["go", "go", "go", "go", "go", "held"]);
  clock.advance(60_000);
  assert.deepEqual(verdicts.slice(6), ["looping", "looping"]);
  assert.equal(rests(), 2);
  clock.advance(24 * 3_600_000);
  assert.ok(rests() > 100 && rests() < 160, `${rests()} starts in a day`);
  assert.deepEqual(new Set(verdicts.slice(6)), new Set(["looping"]));
});

test("2.4 an edit by hand soon after a rested start is taken up, also while the guard waits longer", () => {
  const { clock, verdicts, change, rests } = setup();
  for (let time = 0; time < 8; time++) change(1_000);
  clock.advance(10_000);
  assert.equal(rests(), 1);
  verdicts.length = 0;
  change(3_000);
  assert.deepEqual(verdicts, ["looping"]);
  clock.advance(19_999);
  assert.equal(rests(), 1);
  clock.advance(1);
  assert.equal(rests(), 2, "with the edit");
  change(3_000);
  change(35_000);
  assert.deepEqual(verdicts, ["looping", "looping", "silent"]);
  clock.advance(9_999);
  assert.equal(rests(), 2, "the last edit was 10 s ago at the earliest");
  clock.advance(1);
  assert.equal(rests(), 3);
});

test("2.4 a file that is written all the time causes no restart until it is at rest", () => {
  const { clock, verdicts, change, rests } = setup();
  for (let time = 0; time < 60; time++) change(1_000);
  assert.deepEqual([verdicts.filter((verdict) => verdict === "go").length, rests()], [5, 0]);
  clock.advance(9_999);
  assert.equal(rests(), 0);
  clock.advance(1);
  assert.equal(rests(), 1);
});

test("2.4 a person who saves every few seconds causes a restart each time", () => {
  const { verdicts, change } = setup();
  for (let time = 0; time < 30; time++) change(time % 4 === 3 ? 6_000 : 2_000);
  assert.deepEqual(new Set(verdicts), new Set(["go"]));
});

test("2.4 frequent irregular changes cause restarts for long; a program that writes at irregular times after each start is recognised, too", () => {
  const { verdicts, change } = setup();
  for (let time = 0; time < 16; time++) change(time % 2 === 0 ? 1_000 : 2_500);
  const [followed, ...rest] = [verdicts.lastIndexOf("go") + 1, ...verdicts.slice(13)];
  assert.deepEqual([followed, rest], [13, ["held", "silent", "silent"]]);
});

test("2.4 after a rest, an innocent process is trusted again", () => {
  const { clock, verdicts, change } = setup();
  for (let time = 0; time < 8; time++) change(1_000);
  clock.advance(10_000);
  verdicts.length = 0;
  change(60_000);
  for (let time = 0; time < 4; time++) change(1_000);
  assert.deepEqual(verdicts, ["go", "go", "go", "go", "go"]);
});

test("2.4 the time since an automatic restart counts: a crash loop that writes watched files is a loop", () => {
  const { clock, guard } = setup();
  const verdicts = Array.from({ length: 6 }, () => {
    clock.advance(20_000);
    return guard.verdict(clock.now(), clock.now() - 100);
  });
  assert.deepEqual(verdicts, ["go", "go", "go", "go", "held", "looping"]);
});

test("2.4 a closed guard has no timer", () => {
  const { clock, guard, change } = setup();
  for (let time = 0; time < 8; time++) change(1_000);
  guard.close();
  assert.equal(clock.armed, 0);
});

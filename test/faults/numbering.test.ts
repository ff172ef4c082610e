/** The check of run numbers finds what it is for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { numbering } from "./verdict.ts";

/** Runs such as `job:2#3@17`: slot, number, and start time in ticks. */
function foundIn(...runs: readonly string[]): readonly string[] {
  const records = runs.map((run) => {
    const [slot = "", number, startTime = ""] = run.split(/[#@]/);
    return { slot, run: Number(number), startTime, at: 0 };
  });
  const byKey = new Map(records.map((record) => [`${record.slot}#${record.run}`, record]));
  return numbering(byKey, byKey);
}

test("2.7 run numbers: those of overlapping runs rise in the order of their starts", () => {
  assert.deepEqual(foundIn("job#1@10", "job:2#2@11", "job:3#3@11", "job#4@12", "web#1@5"), []);
});

test("2.7 run numbers: a repeat, a gap and a wrong order are found", () => {
  assert.deepEqual(foundIn("job#1@10", "job:2#1@11"), ["run numbers: job:2#1 has the number of another run of job"]);
  assert.deepEqual(foundIn("job#1@10", "job:2#4@11"), ["run numbers: job lacks 2, 3"]);
  assert.deepEqual(foundIn("job#1@12", "job:2#2@11"), ["run numbers: job:2#2 was started before the run with the number below"]);
});

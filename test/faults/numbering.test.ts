/** The checks of run numbers and of scheduled times find what they are for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { numbering, repeatedSeconds, unseenStarts } from "../support/fault-verdict.ts";

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

test("2.7 run numbers: a run that ended before its start time could be read is in no wrong order", () => {
  assert.deepEqual(foundIn("job#1@10", "job#2", "job#3@11"), []);
});

test("2.7 run numbers: a repeat, a gap and a wrong order are found", () => {
  assert.deepEqual(foundIn("job#1@10", "job:2#1@11"), ["run numbers: job:2#1 has the number of another run of job"]);
  assert.deepEqual(foundIn("job#1@10", "job:2#4@11"), ["run numbers: job lacks 2, 3"]);
  assert.deepEqual(foundIn("job#1@12", "job:2#2@11"), [
    "run numbers: job:2#2 was started before the run with the number below",
  ]);
});

test("2.7 a start without a known outcome is found, unless its keeper was killed right before", () => {
  const ends = new Map([["toy#15", { slot: "toy", run: 15, at: 20_000, pid: 0, unknown: true }]]);
  const killed = (what: string, at: number) => [{ what, at, pids: [] }];
  assert.deepEqual(unseenStarts(ends, killed("keeper service", 19_000)), []);
  for (const kills of [[], killed("service", 19_000), killed("keeper", 21_000), killed("keeper", 5_000)])
    assert.equal(unseenStarts(ends, kills).length, 1);
});

test("2.2 cron: two runs for one second are found, times that were skipped during a run are not", () => {
  const note = (run: number, status: string, planned: number) => ({
    slots: { job: { run, status } },
    met: { start: { planned, at: 0 } },
  });
  const diary = [1, 2, 3].map((run) => ({ id: "job", managed: `job.${run}@mark` }));
  const sound = [
    note(0, "idle", 1_000),
    note(1, "starting", 1_000),
    note(1, "running", 2_000),
    note(1, "idle", 3_000),
    note(2, "starting", 3_000),
  ];
  const found = (...notes: (typeof sound)[number][]): readonly string[] =>
    repeatedSeconds("job", diary, new Map([["job", notes]]));
  assert.deepEqual(found(...sound, note(3, "running", 4_000)), []);
  assert.deepEqual(found(...sound, note(3, "running", 3_000)), [
    "schedule: job#2 and job#3 were both started for 1970-01-01T00:00:03.000Z",
  ]);
  assert.deepEqual(found(), ["schedule: of 3 runs of job the times of 0 are noted"]);
});

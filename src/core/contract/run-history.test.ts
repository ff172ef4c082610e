/** Pages of runs: docs/guide/crashes.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcmanError } from "../base/errors.ts";
import type { ProcessRecord } from "./records.ts";
import { endedRun, lastRuns, runPage, runUnderWay } from "./run-history.ts";
import type { RunIncident, RunSummary } from "./run-summary.ts";

const START = Date.UTC(2026, 5, 1);
const at = (second: number): string => new Date(START + second * 1_000).toISOString();

function incident(run: number, more: Partial<RunIncident> = {}): RunIncident {
  const known = {
    time: at(run * 10 + 5),
    started: at(run * 10),
    process: "web",
    run,
    cause: "exit",
    reason: "exited with code 3",
  } as const;
  return { ...known, code: 3, decision: "none", lines: [], metrics: [], ...more };
}

const numbers = (runs: readonly RunSummary[]): readonly string[] => runs.map(({ process, run }) => `${process} ${run}`);

test("an incident is a run with its end and duration; without a start it has no duration", () => {
  assert.deepEqual(endedRun(incident(2), "web"), {
    ...{ process: "web", run: 2, started: at(20), ended: at(25), durationMs: 5_000 },
    ...{ cause: "exit", reason: "exited with code 3", code: 3 },
  });
  const { started: _, ...unstarted } = incident(3, { cause: "unstartable", reason: "Cannot start: no such file" });
  const run = endedRun(unstarted, "web:2");
  assert.deepEqual([run.slot, run.started, run.durationMs, run.ended], ["web:2", undefined, undefined, at(35)]);
});

test("pages have all runs of several processes once, newest first, also if one of them ends and another begins in between", () => {
  const ended = [1, 2, 3].flatMap((run) => [endedRun(incident(run)), endedRun(incident(run, { process: "web-2" }))]);
  const present = runUnderWay({ process: "job", run: 1, pid: 7, started: at(15) }, START + 60_000);
  assert.deepEqual([present.durationMs, present.reason], [45_000, "is running"]);
  const first = runPage([present, ...ended], { limit: 5 });
  assert.deepEqual(numbers(first.runs), ["web 3", "web-2 3", "web 2", "web-2 2", "job 1"]);
  const later = [
    endedRun(incident(1, { process: "job", started: at(15), time: at(61) })),
    endedRun(incident(9)),
    ...ended,
  ];
  const second = runPage(later, { limit: 5, cursor: first.next ?? "" });
  assert.deepEqual([numbers(second.runs), second.next], [["web 1", "web-2 1"], undefined]);
  assert.deepEqual(runPage(later, { cursor: `${START}_0_web` }), { runs: [] }, "nothing is older");
  assert.equal(runPage(later, {}).runs.length, 8);
  assert.deepEqual(runPage([present, ...later], {}).runs.length, 8, "its end counts, not the run under way");
  assert.deepEqual(runPage([], {}), { runs: [] });
});

test("a strange cursor is refused with its place", () => {
  for (const cursor of ["x", "1_2", "1_2_", "-1_2_web", `${"9".repeat(16)}_1_web`])
    assert.throws(
      () => runPage([], { cursor }),
      ({ code, faults }: ProcmanError) => code === "input-invalid" && faults[0]?.place === "query.cursor",
      cursor,
    );
});

test("the last runs of a process begin with those of its record that are not over", () => {
  const record: ProcessRecord = {
    id: "web",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "runs",
  };
  const incidents = [incident(2), incident(1)];
  const one = { ...record, run: 3, pid: 12, started: at(30) };
  assert.deepEqual(numbers(lastRuns(one, incidents, 2)), ["web 3", "web 2"]);
  const runs = [{ run: 3, pid: 12, started: at(30) }, { run: 4, pid: 13, started: at(40) }, { run: 5 }];
  assert.deepEqual(
    numbers(lastRuns({ ...one, runs }, incidents, 9)),
    ["web 4", "web 3", "web 2", "web 1"],
    "run 5 has not begun",
  );
  assert.deepEqual(numbers(lastRuns({ ...record, run: 2, status: "errored" }, incidents, 9)), ["web 2", "web 1"]);
});

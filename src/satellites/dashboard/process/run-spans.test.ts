/** The time line and the curves of a process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricPoint, ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { stackedData } from "./chart-data.ts";
import { marksOf, spansOf } from "./run-spans.ts";

const NOW = Date.parse("2026-01-01T10:00:00Z");
const HOUR = 3_600_000;
const at = (minutesAgo: number): string => new Date(NOW - minutesAgo * 60_000).toISOString();

function incident(ended: number, started: number, more: Partial<Incident> = {}): Incident {
  return {
    time: at(ended),
    started: at(started),
    process: "web",
    run: 1,
    cause: "exit",
    code: 3,
    reason: "",
    decision: "",
    lines: [],
    metrics: [],
    ...more,
  };
}

const web: ProcessRecord = {
  id: "web",
  type: "process",
  status: "running",
  blocked: false,
  restarts: 1,
  reason: "",
  pid: 1,
  started: at(5),
};

test("runs are spans from their start to their end; the present one lasts until now", () => {
  const spans = spansOf(web, [incident(5, 20), incident(20, 90), incident(90, 100)], { now: NOW, rangeMs: HOUR });
  assert.deepEqual(
    spans.map(({ from, to, isBad }) => [(NOW - from) / 60_000, (NOW - to) / 60_000, isBad]),
    [
      [60, 20, true],
      [20, 5, true],
      [5, 0, false],
    ],
  );
});

test("ends that are near each other have one mark, the newest first", () => {
  const spans = spansOf(
    web,
    [incident(10.1, 11, { code: 0 }), incident(10.2, 11), incident(40, 41, { cause: "operator" })],
    {
      now: NOW,
      rangeMs: HOUR,
    },
  );
  const marks = marksOf(spans, { now: NOW, rangeMs: HOUR, places: 12 });
  assert.deepEqual(
    marks.map(({ incidents, isBad }) => [incidents.map(({ time }) => time), isBad]),
    [
      [[at(40)], false],
      [[at(10.1), at(10.2)], true],
    ],
  );
});

test("curves of instances lie on each other, and a pause is a gap", () => {
  const point = (second: number, cpuPercent: number): MetricPoint => ({
    time: new Date(second * 1_000).toISOString(),
    cpuPercent,
    memoryBytes: 0,
    processes: 1,
  });
  const data = stackedData([[point(0, 1), point(5, 2), point(60, 3)], [point(0, 10)]], "cpuPercent", 5);
  assert.deepEqual(data, {
    times: [0, 5, 10, 60],
    series: [
      [1, 2, null, 3],
      [11, 2, null, 3],
    ],
  });
});

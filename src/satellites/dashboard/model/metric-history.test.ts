/** Small curves: what is asked for, and when they move. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricPoint, ProcessRecord } from "../../../core/contract/records.ts";
import { HISTORY_MINUTES, MetricHistory } from "./metric-history.ts";

const NOW = Date.parse("2026-01-01T10:00:30Z");
const point: MetricPoint = { time: "2026-01-01T09:59:00Z", cpuPercent: 5, memoryBytes: 1e6, processes: 1 };
const record: ProcessRecord = {
  id: "web",
  type: "process",
  status: "running",
  blocked: false,
  restarts: 0,
  reason: "",
  cpuPercent: 7,
  memoryBytes: 2e6,
};
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("points are asked for once, when a curve comes into view, three at a time", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const history = new MetricHistory(
    (id) =>
      new Promise((resolve) => {
        asked.push(id);
        answers.push(() => resolve([point]));
      }),
    () => NOW,
  );
  for (const id of ["a", "b", "c", "d"]) history.listen(id, () => undefined);
  history.listen("a", () => undefined);
  assert.deepEqual(asked, ["a", "b", "c"]);
  answers[0]?.();
  await settled();
  assert.deepEqual(asked, ["a", "b", "c", "d"]);
});

test("a curve that was scrolled out of view before its turn isn't asked for", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const history = new MetricHistory(
    (id) =>
      new Promise((resolve) => {
        asked.push(id);
        answers.push(() => resolve([]));
      }),
    () => NOW,
  );
  const stops = ["a", "b", "c", "d", "e"].map((id) => history.listen(id, () => undefined));
  stops[3]?.();
  answers[0]?.();
  await settled();
  assert.deepEqual(asked, ["a", "b", "c", "e"]);
});

test("a curve that can't be loaded has a reason, is asked for once a minute while it is in view, and then appears", async () => {
  let now = NOW;
  let asked = 0;
  let looks = 0;
  let isBroken = true;
  const history = new MetricHistory(
    async () => {
      asked += 1;
      if (isBroken) throw new Error("Cannot read the metrics: the disk is gone");
      return [point];
    },
    () => now,
  );
  const stop = history.listen("web", () => {
    looks += 1;
  });
  await settled();
  assert.deepEqual([history.problemOf("web"), asked, looks], ["Cannot read the metrics: the disk is gone", 1, 1]);
  history.add([record]);
  await settled();
  assert.equal(asked, 1, "not twice in a minute");
  now += 60_000;
  isBroken = false;
  history.add([record]);
  await settled();
  assert.deepEqual([history.problemOf("web"), asked, looks], [undefined, 2, 2]);
  assert.equal(history.of("web")?.length, 1);
  stop();
});

test("present values continue the curve, which moves once a minute and holds an hour", async () => {
  let now = NOW;
  let moves = 0;
  const history = new MetricHistory(
    async () => [point],
    () => now,
  );
  history.listen("web", () => {
    moves += 1;
  });
  await settled();
  assert.equal(moves, 1);
  for (let second = 0; second < 60; second += 5) {
    now = NOW + second * 1_000;
    history.add([record]);
  }
  assert.equal(moves, 3, "at the beginning of each minute");
  assert.deepEqual(
    history.of("web")?.map(({ cpuPercent }) => cpuPercent),
    [5, 7, 7],
  );
  const { cpuPercent: _, memoryBytes: __, ...stopped } = record;
  now = NOW + 2 * 60_000;
  history.add([stopped]);
  assert.equal(history.of("web")?.length, 3, "no value, no point");
  now = NOW + (HISTORY_MINUTES + 5) * 60_000;
  history.add([record]);
  assert.equal(history.of("web")?.length, 1);
});

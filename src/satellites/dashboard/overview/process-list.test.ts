/** The rows of the overview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { countsOf, firstOrder, type ListFilter, listed, type SortKey } from "./process-list.ts";

function record(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return {
    id,
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "runs",
    pid: 1,
    started: "2026-01-01T00:00:00Z",
    ...more,
  };
}

const RECORDS = [
  record("web-10", { cpuPercent: 1, groups: ["front"] }),
  record("web-9", { cpuPercent: 50, restarts: 3 }),
  record("job", { status: "errored", reason: "exited with code 3" }),
  record("pair", {
    type: "cluster",
    status: "mixed",
    instances: [record("pair-1"), record("pair-2", { status: "starting" })],
  }),
];
const ALL: ListFilter = { text: "", tone: undefined };

function ids(filter: ListFilter, key: SortKey = "attention", open: readonly string[] = []): readonly string[] {
  return listed(RECORDS, { filter, order: firstOrder(key), open: new Set(open) }).map(({ record: { id }, isNested }) =>
    isNested ? `  ${id}` : id,
  );
}

test("what needs attention is first, the rest is in the order of the file", () => {
  assert.deepEqual(ids(ALL), ["job", "pair", "web-10", "web-9"]);
});

test("columns sort numbers from the largest on, and names by their numbers", () => {
  assert.deepEqual(ids(ALL, "id"), ["job", "pair", "web-9", "web-10"]);
  assert.equal(ids(ALL, "cpu")[0], "web-9");
  assert.equal(ids(ALL, "restarts")[0], "web-9");
});

test("a filter finds ids, groups, states and reasons; a cluster also by its instances", () => {
  assert.deepEqual(ids({ ...ALL, text: "FRONT" }), ["web-10"]);
  assert.deepEqual(ids({ ...ALL, text: "code 3" }), ["job"]);
  assert.deepEqual(ids({ ...ALL, text: "pair-2" }, "attention", ["pair"]), ["pair", "  pair-2"]);
  assert.deepEqual(ids({ ...ALL, tone: "bad" }), ["job"]);
  assert.deepEqual(ids({ ...ALL, text: "nothing" }), []);
});

test("instances are counted, not their cluster", () => {
  assert.deepEqual(countsOf(RECORDS), { good: 3, busy: 1, bad: 1, quiet: 0 });
});

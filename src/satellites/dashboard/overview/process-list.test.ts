/** The rows of the overview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { processRecord } from "../../../../test/support/process-record.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import {
  countsOf,
  firstOrder,
  type ListFilter,
  listed,
  type SortKey,
  type TableView,
  usageOf,
} from "./process-list.ts";

function record(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return processRecord(id, { pid: 1, started: "2026-01-01T00:00:00Z", ...more });
}

const RECORDS = [
  record("web-10", { cpuPercent: 1, groups: ["front"] }),
  record("web-9", { cpuPercent: 50, restarts: 3 }),
  record("job", { status: "errored", reason: "exited with code 3" }),
  record("pair", {
    type: "cluster",
    status: "mixed",
    instances: [
      record("pair-1", { cpuPercent: 2, memoryBytes: 10 }),
      record("pair-2", { status: "starting", memoryBytes: 5 }),
    ],
  }),
];
const ALL: ListFilter = { text: "", tone: undefined };

type Shown = Partial<Omit<TableView, "order" | "open" | "closed">> & {
  readonly records?: readonly ProcessRecord[];
  readonly key?: SortKey;
  readonly open?: readonly string[];
  readonly closed?: readonly string[];
};

/** Pinned rows with "!", heads of groups with their number of members, instances indented. */
function rows({
  records = RECORDS,
  filter = ALL,
  isGrouped = false,
  key = "attention",
  open = [],
  closed = [],
}: Shown) {
  const view = { filter, isGrouped, order: firstOrder(key), open: new Set(open), closed: new Set(closed) };
  const { pinned, rows: others } = listed(records, view);
  return [
    ...pinned.map(({ record: { id }, isNested }) => `!${isNested ? "  " : ""}${id}`),
    ...others.map((row) =>
      row.kind === "group"
        ? `${row.name ?? "-"} (${row.members.length})`
        : `${row.isNested ? "  " : ""}${row.record.id}`,
    ),
  ];
}

test("what is in trouble is pinned, what changes is next, the rest is in the order of the file", () => {
  assert.deepEqual(rows({}), ["!job", "pair", "web-10", "web-9"]);
});

test("a cluster with an instance in trouble is pinned with that instance, or with all of them if it is open", () => {
  const bad = record("pair-2", { status: "errored" });
  const records = [record("web"), record("pair", { type: "cluster", instances: [record("pair-1"), bad] })];
  assert.deepEqual(rows({ records }), ["!pair", "!  pair-2", "web"]);
  assert.deepEqual(rows({ records, open: ["pair"] }), ["!pair", "!  pair-1", "!  pair-2", "web"]);
});

test("of many in trouble the first are pinned, the others are above the rest", () => {
  const records = [
    record("good"),
    ...Array.from({ length: 60 }, (_, index) => record(`b${index}`, { status: "errored" })),
  ];
  const shown = rows({ records });
  assert.equal(shown.filter((each) => each.startsWith("!")).length, 50);
  assert.deepEqual([shown.length, shown.at(-1), shown.at(50)], [61, "good", "b50"]);
});

test("columns sort numbers from the largest on, and names by their numbers; nothing is pinned then", () => {
  assert.deepEqual(rows({ key: "id" }), ["job", "pair", "web-9", "web-10"]);
  assert.equal(rows({ key: "cpu" })[0], "web-9");
  assert.equal(rows({ key: "restarts" })[0], "web-9");
});

test("a filter finds ids, groups, states and reasons; a cluster also by its instances", () => {
  assert.deepEqual(rows({ filter: { ...ALL, text: "FRONT" } }), ["web-10"]);
  assert.deepEqual(rows({ filter: { ...ALL, text: "code 3" } }), ["!job"]);
  assert.deepEqual(rows({ filter: { ...ALL, text: "pair-2" }, open: ["pair"] }), ["pair", "  pair-2"]);
  assert.deepEqual(rows({ filter: { ...ALL, tone: "bad" } }), ["!job"]);
  assert.deepEqual(rows({ filter: { ...ALL, text: "nothing" } }), []);
});

test("groups are sections by name, which can be closed; a process is in each of its groups, one without a group in the last section", () => {
  const records = [record("a", { groups: ["z", "b"] }), record("c"), record("d", { groups: ["b"], status: "errored" })];
  assert.deepEqual(rows({ records, isGrouped: true }), ["!d", "b (2)", "a", "z (1)", "a", "- (1)", "c"]);
  assert.deepEqual(rows({ records, isGrouped: true, closed: ["b", ""] }), ["!d", "b (2)", "z (1)", "a", "- (1)"]);
  assert.deepEqual(rows({ records: [record("c")], isGrouped: true }), ["c"], "without groups there are no sections");
});

test("a cluster counts once; what all use is the sum of instances and processes", () => {
  assert.deepEqual(countsOf(RECORDS), { good: 2, busy: 1, bad: 1, quiet: 0 });
  assert.deepEqual(usageOf(RECORDS), { cpuPercent: 53, memoryBytes: 15 });
});

/** The selection of rows in the overview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { processRecord } from "../../../../test/support/process-record.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { dependentsOf } from "../model/record-lists.ts";
import { NONE, type RowSelection, selectedOf, targetsOf, withRange, withToggled } from "./row-selection.ts";

function record(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return processRecord(id, { pid: 1, ...more });
}

const RECORDS = [
  record("db"),
  record("web", {
    type: "cluster",
    instances: [
      record("web-1", { cluster: "web", dependsOn: [{ process: "db", condition: "ready" }] }),
      record("web-2", { cluster: "web" }),
    ],
  }),
  record("mail", { status: "stopped", dependsOn: [{ process: "db", condition: "ready" }] }),
  record("job", { status: "errored", blocked: true }),
];
const ORDER = ["db", "web", "web-1", "web-2", "mail", "job"];

const idsOf = (records: readonly ProcessRecord[]): readonly string[] => records.map(({ id }) => id);
const selection = (...ids: readonly string[]): RowSelection => ids.reduce(withToggled, NONE);

test("a click selects a row, another one takes it out again", () => {
  assert.deepEqual([...selection("db", "mail").ids], ["db", "mail"]);
  assert.deepEqual([...selection("db", "mail", "db").ids], ["mail"]);
});

test("a click with Shift selects all rows from the last one to it, in both directions, beside what is selected", () => {
  assert.deepEqual(
    [...withRange(selection("job", "web"), "mail", ORDER).ids],
    ["job", "web", "web-1", "web-2", "mail"],
  );
  assert.deepEqual([...withRange(selection("mail"), "web-1", ORDER).ids], ["mail", "web-1", "web-2"]);
  assert.deepEqual([...withRange(NONE, "db", ORDER).ids], ["db"]);
  assert.deepEqual([...withRange(selection("gone"), "db", ORDER).ids], ["gone", "db"]);
});

test("a selected cluster stands for its instances; what is no longer there counts as not selected", () => {
  assert.deepEqual(idsOf(selectedOf(RECORDS, selection("web", "web-1", "mail", "gone"))), ["web", "mail"]);
  assert.deepEqual(idsOf(selectedOf(RECORDS, selection("web-2"))), ["web-2"]);
  assert.deepEqual(selectedOf(RECORDS, NONE), []);
});

test("an action concerns the selected processes for which it makes sense now", () => {
  assert.deepEqual(idsOf(targetsOf("start", RECORDS)), ["mail"]);
  assert.deepEqual(idsOf(targetsOf("stop", RECORDS)), ["db", "web"]);
  assert.deepEqual(idsOf(targetsOf("restart", RECORDS)), ["db", "web"]);
});

test("processes that depend on what is acted on are named, unless they are acted on, too", () => {
  const [db, , mail] = RECORDS as [ProcessRecord, ProcessRecord, ProcessRecord];
  assert.deepEqual(idsOf(dependentsOf(new Set([db.id]), RECORDS)), ["web", "mail"]);
  assert.deepEqual(idsOf(dependentsOf(new Set([db.id, mail.id]), RECORDS)), ["web"]);
});

/** Incidents in the dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { groupsOf, INCIDENTS_LIMIT, withIncident } from "./incident-groups.ts";

function incident(run: number, more: Partial<Incident> = {}): Incident {
  const time = new Date(1_000 * run).toISOString();
  return {
    time,
    process: "web",
    run,
    cause: "exit",
    code: 3,
    reason: "exited with code 3",
    decision: "restart",
    lines: [],
    metrics: [],
    ...more,
  };
}

test("an incident that comes as an event and in the answer is there once; the newest are kept", () => {
  const known = withIncident(withIncident([], incident(1)), incident(2));
  assert.deepEqual(
    known.map(({ run }) => run),
    [2, 1],
  );
  assert.equal(withIncident(known, incident(1)), known);
  const many = Array.from({ length: INCIDENTS_LIMIT + 1 }, (_, index) => incident(index)).reduce(withIncident, []);
  assert.deepEqual([many.length, many[0]?.run], [INCIDENTS_LIMIT, INCIDENTS_LIMIT]);
});

test("incidents of one process with the same cause and code are a group, with those that were left out", () => {
  const groups = groupsOf([incident(3, { leftOut: 4 }), incident(2, { code: 1 }), incident(1)]);
  assert.deepEqual(
    groups.map(({ how, count }) => [how, count]),
    [
      ["code 3", 6],
      ["code 1", 1],
    ],
  );
});

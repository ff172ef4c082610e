/** Incidents in the dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { errorLineOf } from "./error-line.ts";
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

const ALL = { text: "", from: 0, isAll: false };

function withLine(run: number, text: string, more: Partial<Incident> = {}): Incident {
  const { time } = incident(run);
  return incident(run, {
    lines: [
      { time, text, severity: "error", category: "stderr" },
      { time, text: "    at main (a.js:1)", severity: "error", category: "stderr" },
    ],
    ...more,
  });
}

test("incidents of one process with the same cause, code and error line are a group, with those that were left out", () => {
  const groups = groupsOf(
    [
      withLine(4, "Error: port 4001 is taken", { leftOut: 4 }),
      withLine(3, "Error: no such table"),
      withLine(2, "Error: port 4000 is taken"),
      withLine(1, "Error: port 4000 is taken", { code: 1 }),
    ],
    ALL,
  );
  assert.deepEqual(
    groups.map(({ cause, errorLine, count }) => [cause, errorLine, count]),
    [
      ["exited with code 3", "Error: port 4001 is taken", 6],
      ["exited with code 3", "Error: no such table", 1],
      ["exited with code 1", "Error: port 4000 is taken", 1],
    ],
  );
});

test("incidents are filtered by time, by text, and by whether somebody wanted them", () => {
  const all = [
    withLine(9, "Error: x"),
    incident(5, { cause: "operator" }),
    incident(2, { process: "db" }),
    incident(1, { cause: "idle" }),
  ];
  const processes = (filter: object): readonly string[] =>
    groupsOf(all, { ...ALL, ...filter }).map(({ process, cause }) => `${process} ${cause}`);
  assert.deepEqual(processes({}), ["web exited with code 3", "db exited with code 3"]);
  assert.deepEqual(processes({ from: 4_000 }), ["web exited with code 3"]);
  assert.deepEqual(processes({ text: "error: X" }), ["web exited with code 3"]);
  assert.equal(processes({ isAll: true }).length, 4);
});

test("the error line is the error that was printed last, else the last line of standard error, else the last line", () => {
  const line = (text: string, severity: "info" | "error" = "info") => ({
    time: "",
    text,
    severity,
    category: "stdout" as const,
  });
  const of = (...lines: ReturnType<typeof line>[]): string | undefined => errorLineOf({ lines });
  assert.equal(
    of(
      line("TypeError: x is not a function", "error"),
      line("    at f (a.js:1)", "error"),
      line("", "error"),
      line("Node.js v22.1.0", "error"),
    ),
    "TypeError: x is not a function",
  );
  assert.equal(of(line("bad revision", "error"), line("bye")), "bad revision");
  assert.equal(of(line("first"), line("bye"), line("}")), "bye");
  assert.equal(of(), undefined);
});

/** The states of processes after an end that was cut off. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { afterCutOffEnd } from "./cut-off-end.ts";

const IDLE: SlotState = { status: "idle", run: 4, restarts: 2, outcome: { kind: "stopped" } };
const STOPPING: SlotState = {
  ...{ status: "stopping", phase: "terminate", next: "idle", cause: "operator" },
  ...{ run: 4, restarts: 0, pid: 77, started: 1, since: 2 },
};
const RUNNING: SlotState = { status: "running", run: 4, restarts: 0, pid: 78, since: 1, ready: true };

function statesOf(
  slots: Readonly<Record<string, SlotState>>,
  starting: readonly string[],
  beginning: "start" | "sleep" = "start",
): ProcessSnapshot | undefined {
  const startOf = new Map(starting.map((id) => [id, beginning]));
  return afterCutOffEnd(new Map([["web", { blocked: true, held: ["web"], slots }]]), startOf).get("web");
}

test("what starts with procman starts, or starts once it has ended, with the next run's number; blocks have ended", () => {
  assert.deepEqual(statesOf({ web: IDLE }, ["web"]), {
    blocked: false,
    slots: { web: { status: "waiting", run: 4, restarts: 0 } },
  });
  assert.deepEqual(statesOf({ web: STOPPING }, ["web"])?.slots, { web: { ...STOPPING, next: "start" } });
});

test("what is started by hand stays stopped, and so do further slots", () => {
  assert.deepEqual(statesOf({ web: IDLE }, [])?.slots, { web: IDLE });
  assert.deepEqual(statesOf({ web: { ...STOPPING, next: "start" }, "web:2": STOPPING }, [])?.slots, {
    web: STOPPING,
    "web:2": STOPPING,
  });
  assert.deepEqual(statesOf({ web: RUNNING, "web:2": IDLE }, ["web"])?.slots, { web: RUNNING, "web:2": IDLE });
});

test("what sleeps without clients begins asleep", () => {
  const [state] = Object.values(statesOf({ web: IDLE }, ["web"], "sleep")?.slots ?? {});
  assert.ok(state?.status === "idle" && state.outcome.kind === "asleep" && state.run === 4);
  assert.deepEqual(statesOf({ web: STOPPING }, ["web"], "sleep")?.slots, { web: { ...STOPPING, cause: "idle" } });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExitInfo, RunOutcome, SlotState } from "./states.ts";
import * as verdict from "./verdict.ts";

const BASE = { run: 3, restarts: 0 };
const ENDING: ExitInfo = { kind: "exited", code: 1, signal: null };
const CHILD = { pid: 7, started: 1, since: 2 };

function idle(outcome: RunOutcome): SlotState {
  return { ...BASE, status: "idle", outcome };
}

function running(more: Partial<SlotState & { readonly status: "running" }>): SlotState {
  return { ...BASE, status: "running", pid: 7, since: 1, ready: true, ...more };
}

const STOP = { ...BASE, status: "stopping", next: "idle", cause: "operator" } as const;

/** Each state of the table, and all verdicts that hold for it. */
const ROWS: readonly (readonly [name: string, state: SlotState | undefined, verdicts: readonly string[]])[] = [
  ["no slot", undefined, ["isDown"]],
  ["never started", idle({ kind: "never-started" }), ["isDown", "isIdle", "isQuiet", "wasNeverStarted"]],
  ["stopped", idle({ kind: "stopped" }), ["isDown", "isIdle", "isQuiet", "wasStopped"]],
  [
    "finished",
    idle({ kind: "finished", ending: ENDING }),
    ["hasCompleted", "hasFinished", "isDown", "isIdle", "isQuiet"],
  ],
  ["failed", idle({ kind: "failed", ending: ENDING }), ["hasCompleted", "hasFailed", "isDown", "isIdle", "isQuiet"]],
  [
    "exhausted",
    idle({ kind: "exhausted", ending: ENDING }),
    ["hasCompleted", "hasFailed", "isDown", "isIdle", "isQuiet"],
  ],
  [
    "not startable",
    idle({ kind: "failed", ending: { kind: "unstartable", message: "no such file", permanent: true } }),
    ["hasFailed", "isDown", "isIdle", "isQuiet"],
  ],
  ["waiting", { ...BASE, status: "waiting" }, ["isQuiet", "isWaiting"]],
  [
    "starting",
    { ...BASE, status: "starting" },
    ["hasCurrentRun", "isComing", "isStarting", "isStartingOrRunning", "isUnderWay"],
  ],
  [
    "not ready",
    running({ ready: false }),
    ["hasCurrentRun", "hasLeader", "isRunning", "isStartingOrRunning", "isUnderWay", "isUnready"],
  ],
  [
    "ready",
    running({}),
    ["hasCurrentRun", "hasLeader", "isReady", "isRunning", "isStable", "isStartingOrRunning", "isUnderWay"],
  ],
  [
    "healthy after a restart",
    running({ healthy: true, restarts: 1 }),
    ["hasCurrentRun", "hasLeader", "isHealthy", "isReady", "isRunning", "isStartingOrRunning", "isUnderWay"],
  ],
  [
    "unhealthy",
    running({ healthy: false }),
    [
      "hasCurrentRun",
      "hasLeader",
      "isReady",
      "isRunning",
      "isStable",
      "isStartingOrRunning",
      "isUnderWay",
      "isUnhealthy",
    ],
  ],
  ["stopped before its spawn", { ...STOP, phase: "spawning" }, ["hasCurrentRun", "isBeingStopped", "isStopping"]],
  [
    "waiting for dependents",
    { ...STOP, ...CHILD, phase: "waiting-dependents" },
    ["hasCurrentRun", "hasLeader", "isBeingStopped", "isStopping", "waitsForDependents"],
  ],
  [
    "stopped to start again",
    { ...STOP, ...CHILD, phase: "terminate", next: "start" },
    ["hasCurrentRun", "hasLeader", "isComing", "isStopping", "startsAgain"],
  ],
  [
    "stopped by its policy",
    { ...STOP, ...CHILD, phase: "kill", next: "policy", cause: "memory" },
    ["hasCurrentRun", "hasLeader", "isStopping"],
  ],
  [
    "being swept",
    { ...STOP, ...CHILD, phase: "cleanup", ending: ENDING },
    ["hasCurrentRun", "isBeingStopped", "isStopping", "isSweeping"],
  ],
  [
    "running its hook afterStop",
    { ...STOP, ...CHILD, phase: "after-stop", ending: ENDING },
    ["hasCurrentRun", "isBeingStopped", "isStopping", "isSweeping", "runsAfterStop"],
  ],
  ["in back-off", { ...BASE, status: "backoff", until: 9, ending: ENDING }, ["isDown", "isInBackoff", "isUnderWay"]],
];

const { isStoppedFor, ...VERDICTS } = verdict;

for (const [name, state, expected] of ROWS)
  test(`the verdicts on a process that is ${name}`, () => {
    const found = Object.entries(VERDICTS).flatMap(([each, holds]) => (holds(state) ? [each] : []));
    assert.deepEqual(found.sort(), expected);
  });

test("a stop has one cause", () => {
  const [, state] = ROWS.find(([name]) => name === "stopped by its policy") ?? [];
  assert.deepEqual([isStoppedFor(state, "memory"), isStoppedFor(state, "operator")], [true, false]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeSnapshot, encodeSnapshot, type ProcessSnapshot } from "./snapshot.ts";
import type { SlotState } from "./states.ts";

const exited = { kind: "exited", code: 3, signal: null } as const;
const child = { pid: 50, started: 1.5, since: 2.5 };
const stop = { status: "stopping", run: 2, restarts: 1, next: "policy", cause: "timeout" } as const;
/** A state of each kind. */
const states: readonly SlotState[] = [
  { status: "idle", run: 0, restarts: 0, outcome: { kind: "never-started" } },
  { status: "idle", run: 1, restarts: 0, outcome: { kind: "stopped" } },
  { status: "idle", run: 1, restarts: 0, outcome: { kind: "stopped", ending: { kind: "unknown" } } },
  { status: "idle", run: 0, restarts: 0, outcome: { kind: "asleep", since: 5.5 } },
  { status: "idle", run: 1, restarts: 0, outcome: { kind: "asleep", since: 5.5, ending: { kind: "unknown" } } },
  { status: "idle", run: 1, restarts: 0, outcome: { kind: "failed", ending: { kind: "unknown", outOfMemory: true } } },
  { status: "idle", run: 1, restarts: 0, outcome: { kind: "finished", ending: { ...exited, code: 0 } } },
  {
    status: "idle",
    run: 1,
    restarts: 4,
    outcome: { kind: "exhausted", ending: { kind: "exited", code: null, signal: "SIGKILL", outOfMemory: true } },
  },
  {
    status: "idle",
    run: 1,
    restarts: 0,
    outcome: { kind: "failed", ending: { kind: "unstartable", message: "no", permanent: true, exitCode: 127 } },
  },
  { status: "waiting", run: 1, restarts: 0 },
  { status: "starting", run: 1, restarts: 0 },
  { status: "starting", run: 1, restarts: 0, hookSince: 5.5 },
  { status: "running", run: 7, restarts: 2, pid: 50, since: 10.25, ready: true },
  { ...stop, phase: "spawning" },
  { ...stop, phase: "spawning", hookSince: 5.5 },
  { ...stop, ...child, phase: "waiting-dependents" },
  { ...stop, ...child, phase: "grace" },
  { ...stop, ...child, next: "idle", cause: "idle", phase: "grace" },
  { ...stop, ...child, next: "idle", cause: "idle", phase: "cleanup", ending: exited },
  { ...stop, ...child, phase: "kill" },
  { ...stop, ...child, phase: "cleanup", ending: exited },
  { ...stop, ...child, phase: "cleanup-kill", ending: exited },
  { ...stop, ...child, phase: "after-stop", ending: exited },
  { status: "backoff", run: 3, restarts: 1, until: 99.5, ending: exited },
];
const running = states.find(({ status }) => status === "running") as SlotState;
const webWith = (state: unknown, extra: object = {}): unknown => ({ blocked: false, slots: { web: state }, ...extra });

test("every state survives JSON, with overlapping runs and planned times", () => {
  for (const state of states) {
    const snapshot = {
      blocked: true,
      slots: { web: state, "web:2": state, "web:12": state },
      planned: { start: 5, terminate: 6 },
    };
    assert.deepEqual(decodeSnapshot(JSON.parse(JSON.stringify(encodeSnapshot(snapshot))), "web"), snapshot);
  }
  assert.deepEqual(decodeSnapshot({ blocked: false, slots: {} }, "web"), { blocked: false, slots: {} });
  const newer = webWith({ ...running, added: "by a newer version" }, { alsoNew: [] });
  assert.equal(decodeSnapshot(newer, "web"), newer);
});

test("the note keeps the names that phases had at first", () => {
  const noted = (phase: "waiting-dependents" | "cleanup" | "cleanup-kill"): unknown =>
    encodeSnapshot(
      webWith({
        ...stop,
        ...child,
        phase,
        ...(phase === "waiting-dependents" ? {} : { ending: exited }),
      }) as ProcessSnapshot,
    );
  assert.deepEqual(noted("waiting-dependents"), webWith({ ...stop, ...child, phase: "held" }));
  assert.deepEqual(noted("cleanup"), webWith({ ...stop, ...child, phase: "sweep", ending: exited }));
  assert.deepEqual(noted("cleanup-kill"), webWith({ ...stop, ...child, phase: "sweep-kill", ending: exited }));
});

test("a version without hooks reads the note of a run whose hook afterStop runs as that of a sweep", () => {
  const noted = encodeSnapshot(webWith({ ...stop, ...child, phase: "after-stop", ending: exited }) as ProcessSnapshot);
  assert.deepEqual(noted, webWith({ ...stop, ...child, phase: "sweep", isSwept: true, ending: exited }));
});

test("invalid snapshots are detected: other shapes, other ids, and pids with a special meaning", () => {
  const strange: readonly unknown[] = [
    null,
    [],
    "web",
    {},
    { blocked: "yes", slots: {} },
    { blocked: false, slots: [running] },
    { blocked: false, slots: { api: running } },
    { blocked: false, slots: { "web:": running } },
    { blocked: false, slots: { "web:x": running } },
    { blocked: false, slots: { web: running, "web:1:2": running } },
    webWith(null),
    webWith({ ...running, status: "hibernating" }),
    webWith({ ...running, run: -1 }),
    webWith({ ...running, since: null }),
    ...[0, 1, -1, -50, 1.5, null, "50"].map((pid) => webWith({ ...running, pid })),
    webWith({ status: "backoff", run: 1, restarts: 0, until: null, ending: exited }),
    webWith({ ...stop, phase: "sweep", ...child }),
    webWith({ ...stop, phase: "cleanup", ...child, ending: exited }),
    webWith({ status: "idle", run: 1, restarts: 0, outcome: { kind: "failed" } }),
    webWith({ ...running, since: 1e300 }),
    webWith(running, { planned: { start: "10:00" } }),
    webWith(running, { planned: { start: -1e300 } }),
  ];
  for (const value of strange) assert.equal(decodeSnapshot(value, "web"), undefined, JSON.stringify(value));
});

test("any JSON is validated without an exception", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void decodeSnapshot(value, "web")));
  fc.assert(fc.property(fc.jsonValue(), (value) => decodeSnapshot(webWith(value), "web") === undefined));
});

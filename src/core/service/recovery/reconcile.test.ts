/** How a new service reconciles the keeper's snapshot with the notes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { normalise } from "../../config/normalise.ts";
import type { Config } from "../../config/spec.ts";
import type { EndReport, FromKeeper } from "../../ipc/keeper-protocol.ts";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { processOf } from "../spec-registry.ts";
import { writeConfigSnapshot } from "./config-snapshot.ts";
import { type RecoveredState, reconcile } from "./reconcile.ts";

function configOf(...ids: readonly string[]): Config {
  const processes = ids.map((id) => ({ id, cmd: `run ${id}`, autostart: true }));
  return {
    ...normalise({ processes }, { folder: "/srv", parallelism: 1, now: new Date(0), stripsTypes: false }),
    file: "/srv/procman.json",
    warnings: [],
  };
}

type Seen = (FromKeeper & { readonly t: "snapshot" })["running"][number];

const run = (slot: string, number = 4): Seen => ({
  slot,
  run: number,
  pid: 77,
  startTime: "1",
  since: 5,
  captured: true,
});
const exited = (slot: string, number: number, code: number): EndReport => ({
  t: "exited",
  slot,
  run: number,
  pid: 77,
  code,
  signal: null,
  unknown: false,
  survivors: false,
  at: 9,
});
const up = (number = 4): SlotState => ({
  status: "running",
  run: number,
  restarts: 3,
  pid: 77,
  since: 5,
  ready: false,
});
const noteOf = (slot: string, state: SlotState): string => JSON.stringify({ blocked: true, slots: { [slot]: state } });

function reconciled(
  config: Config,
  { notes = {}, running = [], ended = [] }: { notes?: Record<string, string>; running?: Seen[]; ended?: EndReport[] },
): RecoveredState {
  return reconcile({ notes, running, ended, keepsApi: true, markerKey: "" }, config);
}

const ids = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id);

test("the noted state of a run that is still running is kept", () => {
  const { snapshots, unknownRuns, damagedNotes } = reconciled(configOf("web"), {
    notes: { web: noteOf("web", up()) },
    running: [run("web")],
  });
  assert.deepEqual(snapshots.get("web"), { blocked: true, slots: { web: up() } });
  assert.deepEqual([unknownRuns, damagedNotes], [[], []]);
});

test("a run that is in no note is adopted as running, also an overlapping one, and one that is newer than the note", () => {
  const { snapshots, unknownRuns } = reconciled(configOf("web", "late", "idle"), {
    notes: {
      late: noteOf("late", up(3)),
      idle: noteOf("idle", { status: "idle", run: 4, restarts: 1, outcome: { kind: "stopped" } }),
    },
    running: [run("web"), run("web:2", 9), run("late", 6), run("idle", 4)],
  });
  const fresh = (number: number): SlotState => ({ ...up(number), restarts: 0 }) as SlotState;
  assert.deepEqual(snapshots.get("web"), { blocked: false, slots: { web: fresh(4), "web:2": fresh(9) } });
  assert.deepEqual(snapshots.get("late"), { blocked: true, slots: { late: fresh(6) } });
  assert.deepEqual(snapshots.get("idle")?.slots, { idle: fresh(4) });
  assert.deepEqual(
    unknownRuns.map(({ slot }) => slot),
    ["web", "web:2", "late", "idle"],
  );
});

test("a run that the keeper has started by a restart order is known by the run before it, whose end is not processed yet", () => {
  const report = exited("web", 4, 3);
  const [plain, followed] = [[report], [{ ...report, followed: true }] as EndReport[]].map((ended) =>
    reconciled(configOf("web"), { notes: { web: noteOf("web", up(4)) }, running: [run("web", 5)], ended }),
  );
  assert.deepEqual(followed?.snapshots.get("web")?.slots, { web: up(4) });
  assert.deepEqual([followed?.unknownRuns, followed?.outdatedRuns], [[], []]);
  assert.deepEqual(plain?.unknownRuns, [run("web", 5)]);
});

test("a run that is older than the note of its slot is outdated", () => {
  const { snapshots, outdatedRuns } = reconciled(configOf("web"), {
    notes: { web: noteOf("web", up(5)) },
    running: [run("web", 4)],
  });
  assert.deepEqual(snapshots.get("web")?.slots, { web: up(5) });
  assert.deepEqual(outdatedRuns, [run("web", 4)]);
});

test("for runs that are in no note, the latest report of the end decides", () => {
  const { snapshots } = reconciled(configOf("web", "known"), {
    notes: { known: noteOf("known", up(9)) },
    ended: [exited("web", 2, 0), exited("web", 3, 1), exited("known", 8, 1)],
  });
  assert.deepEqual(snapshots.get("web")?.slots, { web: { status: "starting", run: 3, restarts: 0 } });
  assert.deepEqual(snapshots.get("known")?.slots, { known: up(9) });
});

test("notes that are torn, foreign or of a newer version are ignored and named; running processes are adopted anyway", () => {
  const torn = noteOf("torn", up()).slice(0, 20);
  const notes = {
    torn,
    newer: JSON.stringify({ blocked: false, slots: { newer: { status: "hibernating", run: 1, restarts: 0 } } }),
    foreign: "[1,2]",
    fine: noteOf("fine", up()),
    ":later": "something of a newer version",
  };
  const { snapshots, damagedNotes, unknownRuns } = reconciled(configOf("torn", "newer", "fine"), {
    notes,
    running: [run("torn"), run("fine")],
  });
  assert.deepEqual(damagedNotes, ["torn", "newer", "foreign"]);
  assert.deepEqual([...snapshots.keys()].toSorted(), ["fine", "torn"]);
  assert.deepEqual(unknownRuns, [run("torn")]);
});

test("the configuration that the runs were started by is that of the note, else the present one", () => {
  const before = configOf("web", "old");
  const note = writeConfigSnapshot({ config: before, removing: configOf("going").processes });
  const kept = reconciled(configOf("web", "new"), { notes: { ":config": note } }).previous;
  assert.deepEqual([ids(kept.config.processes), ids(kept.removing)], [["web", "old"], ["going"]]);
  const now = configOf("web", "new");
  assert.deepEqual(reconciled(now, { notes: { ":config": "{torn" } }).previous.config.processes, now.processes);
  const same = reconciled(now, { notes: { ":config": writeConfigSnapshot({ config: now, removing: [] }) } }).previous;
  assert.ok(
    same.config.processes.every((spec, index) => spec === now.processes[index]),
    "nothing is to be compared",
  );
});

test("running processes that are in no configuration are being removed; those in the present one keep running", () => {
  const notes = {
    ":config": writeConfigSnapshot({ config: configOf("web"), removing: [] }),
    idle: noteOf("idle", { ...up(), status: "waiting" } as SlotState),
  };
  const { previous } = reconciled(configOf("web", "api"), { notes, running: [run("stranger:2"), run("api")] });
  assert.deepEqual(
    [ids(previous.config.processes), ids(previous.removing)],
    [
      ["web", "api"],
      ["idle", "stranger"],
    ],
  );
  const [stranger] = previous.removing.slice(1);
  assert.deepEqual(
    [stranger?.policy.terminateMs, stranger?.policy.restart, stranger?.autostart],
    [30_000, "never", false],
  );
});

test("whatever the notes are, each run that the keeper reports is unknown, known, or outdated", () => {
  const slots = ["web", "web:2", "api", "gone"];
  const states = fc.constantFrom<unknown>(
    up(3),
    up(4),
    up(5),
    { status: "starting", run: 4, restarts: 0 },
    { status: "odd" },
    null,
  );
  const note = fc.oneof(
    fc.json(),
    fc
      .tuple(fc.constantFrom(...slots), states)
      .map(([slot, state]) => JSON.stringify({ blocked: false, slots: { [slot]: state } })),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("web", "api", "gone", ":config", ":x"), note),
      fc.subarray(slots),
      fc.subarray(slots),
      (notes, alive, over) => {
        const running = alive.map((slot) => run(slot));
        const { snapshots, outdatedRuns, previous } = reconciled(configOf("web", "api"), {
          notes,
          running,
          ended: over.map((slot) => exited(slot, 4, 1)),
        });
        for (const each of running) {
          const state = (snapshots.get(processOf(each.slot)) as ProcessSnapshot).slots[each.slot];
          assert.ok(state?.run === each.run || outdatedRuns.includes(each), `${each.slot}: ${JSON.stringify(state)}`);
        }
        const known = new Set([...ids(previous.config.processes), ...ids(previous.removing)]);
        for (const id of snapshots.keys()) assert.ok(known.has(id), `${id} has a specification`);
      },
    ),
  );
});

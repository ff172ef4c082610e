import assert from "node:assert/strict";
import { test } from "node:test";
import { specsOf } from "../../../../test/support/service-fakes.ts";
import { normalise } from "../../config/normalise.ts";
import type { ExitInfo, RunOutcome, SlotState } from "../../supervisor/states.ts";
import { ExitWith } from "./exit-with.ts";

const { processes } = normalise(
  {
    processes: [
      { id: "job", cmd: "x", autostart: true },
      { id: "web", cmd: "y", autostart: true, cluster: { instances: 3 } },
      { id: "manual", cmd: "z" },
    ],
  },
  { folder: "/", parallelism: 1, now: new Date(0), stripsTypes: false },
);
const specs = specsOf(processes);

const idle = (outcome: RunOutcome, run = 1): SlotState => ({ status: "idle", run, restarts: 0, outcome });
const ended = (ending: ExitInfo): SlotState => idle({ kind: "failed", ending });
const exited = (code: number | null, signal: string | null = null): SlotState =>
  ended({ kind: "exited", code, signal });
const runs: SlotState = { status: "running", run: 1, restarts: 0, pid: 9, since: 0, ready: false };
const backoff: SlotState = { status: "backoff", run: 1, restarts: 0, until: 9, ending: { kind: "unknown" } };
const never = idle({ kind: "never-started" }, 0);

/** The exit code, once it is over. */
function over(states: readonly SlotState[]): number | undefined {
  return new ExitWith("job", specs).finalCode([
    { id: "job", states },
    { id: "web-1", states: [runs] },
  ]);
}

test("the exit code is that of the process; a signal counts as 128 plus its number, as in a shell", () => {
  const codes: readonly (readonly [SlotState, number])[] = [
    [idle({ kind: "finished", ending: { kind: "exited", code: 0, signal: null } }), 0],
    [exited(3), 3],
    [exited(null, "SIGKILL"), 137],
    [exited(null, "SIGTERM"), 143],
    [idle({ kind: "exhausted", ending: { kind: "exited", code: 4, signal: null } }), 4],
    [idle({ kind: "stopped", ending: { kind: "exited", code: null, signal: "SIGTERM" } }), 143],
    [idle({ kind: "stopped" }), 0],
    [ended({ kind: "unknown" }), 1],
    [ended({ kind: "unstartable", message: "", permanent: true, exitCode: 127 }), 127],
    [ended({ kind: "unstartable", message: "", permanent: false }), 1],
  ];
  for (const [state, code] of codes) assert.equal(over([state]), code, JSON.stringify(state));
});

test("an exit code that counts as success is the code of one process, and 0 for all together", () => {
  const finished = (code: number): SlotState =>
    idle({ kind: "finished", ending: { kind: "exited", code, signal: null } });
  assert.equal(over([finished(3)]), 3);
  const all = new ExitWith(undefined, specs);
  const of = (job: SlotState, web: SlotState) => [
    { id: "job", states: [job] },
    { id: "web-1", states: [web] },
  ];
  assert.equal(all.finalCode(of(finished(3), finished(0))), 0);
  assert.equal(all.finalCode(of(finished(3), exited(4))), 4);
});

test("a process is over when its policy doesn't start it again: not while it runs, restarts, or has never run", () => {
  for (const states of [[runs], [backoff], [never], [exited(1), runs]])
    assert.equal(over(states), undefined, JSON.stringify(states));
  assert.equal(over([idle({ kind: "stopped" }, 0)]), 0, "it was stopped while it waited");
  assert.equal(over([never, exited(5)]), 5);
});

test("a cluster is over with its last instance; the first code that is not 0 counts", () => {
  const web = new ExitWith("web", specs);
  const of = (...states: readonly SlotState[]) =>
    states.map((state, index) => ({ id: `web-${index + 1}`, states: [state] }));
  assert.equal(web.finalCode(of(exited(0), runs, exited(7))), undefined);
  assert.equal(web.finalCode(of(exited(0), exited(6), exited(7))), 6);
  assert.equal(new ExitWith("web-2", specs).finalCode(of(runs, exited(6), runs)), 6);
});

test("without an id everything that starts with procman must be over; the first code that is not 0 counts, then what was skipped", () => {
  const all = new ExitWith(undefined, specs);
  const of = (job: SlotState, other: SlotState) => [
    { id: "job", states: [job] },
    { id: "web-1", states: [other] },
    { id: "web-2", states: [other] },
    { id: "manual", states: [never] },
  ];
  const waiting: SlotState = { status: "waiting", run: 0, restarts: 0 };
  assert.equal(all.finalCode(of(exited(0), runs)), undefined);
  assert.equal(all.finalCode(of(exited(0), never)), undefined);
  assert.equal(all.finalCode(of(exited(0), exited(0))), 0);
  assert.equal(all.finalCode(of(exited(3), exited(4))), 3);
  assert.equal(all.finalCode(of(waiting, exited(4))), undefined);
  assert.equal(
    all.finalCode(of(waiting, exited(4)), (id) => id === "job"),
    4,
  );
  assert.equal(
    all.finalCode(of(waiting, exited(0)), (id) => id === "job"),
    1,
  );
});

test("without an id a process that others only need running doesn't have to end; if it has failed, its code counts", () => {
  const raw = [
    { id: "db", cmd: "x", autostart: true },
    { id: "migrate", cmd: "x", autostart: true, dependsOn: ["db"] },
    { id: "test", cmd: "x", autostart: true, dependsOn: ["db", { id: "migrate", condition: "finished" as const }] },
  ];
  const normal = normalise({ processes: raw }, { folder: "/", parallelism: 1, now: new Date(0), stripsTypes: false });
  const all = new ExitWith(undefined, specsOf(normal.processes));
  const of = (db: SlotState, migrate: SlotState, check: SlotState) => [
    { id: "db", states: [db] },
    { id: "migrate", states: [migrate] },
    { id: "test", states: [check] },
  ];
  const done = exited(0);
  assert.equal(all.finalCode(of(runs, done, runs)), undefined);
  assert.equal(all.finalCode(of(runs, runs, done)), undefined);
  assert.equal(all.finalCode(of(runs, done, done)), 0);
  assert.equal(all.finalCode(of(runs, done, exited(3))), 3);
  assert.equal(all.finalCode(of(exited(9), done, done)), 9);
});

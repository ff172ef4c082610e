import assert from "node:assert/strict";
import { test } from "node:test";
import { normalise } from "../../config/normalise.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ExitInfo, RunOutcome, SlotState } from "../../supervisor/states.ts";
import { checkExitWith, ExitWith, exitWithWarning } from "./exit-with.ts";

const { processes } = normalise(
  {
    processes: [
      { id: "job", cmd: "x" },
      { id: "web", cmd: "y", cluster: { instances: 3 } },
    ],
  },
  { folder: "/", parallelism: 1, now: new Date(0), stripsTypes: false },
);
const specOf = (id: string): ProcessSpec => processes.find((spec) => spec.id === id) as ProcessSpec;

const idle = (outcome: RunOutcome, run = 1): SlotState => ({ status: "idle", run, restarts: 0, outcome });
const ended = (ending: ExitInfo): SlotState => idle({ kind: "failed", ending });
const exited = (code: number | null, signal: string | null = null): SlotState => ended({ kind: "exited", code, signal });
const runs: SlotState = { status: "running", run: 1, restarts: 0, pid: 9, since: 0, ready: false };
const backoff: SlotState = { status: "backoff", run: 1, restarts: 0, until: 9, ending: { kind: "unknown" } };
const never = idle({ kind: "never-started" }, 0);

/** The exit code, once it is over. */
function over(states: readonly SlotState[], nextRun?: number): number | undefined {
  return new ExitWith("job", specOf).finalCode([
    { id: "job", states, next: () => nextRun },
    { id: "web-1", states: [runs], next: () => undefined },
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

test("a process is over when nothing starts it again: not while it runs, restarts, waits for its schedule, or has never run", () => {
  for (const states of [[runs], [backoff], [never], [exited(1), runs]]) assert.equal(over(states), undefined, JSON.stringify(states));
  assert.equal(over([exited(1)], 5), undefined);
  assert.equal(over([never, exited(5)]), 5);
});

test("a cluster is over with its last instance; the first code that is not 0 counts", () => {
  const web = new ExitWith("web", specOf);
  const of = (...states: readonly SlotState[]) =>
    states.map((state, index) => ({ id: `web-${index + 1}`, states: [state], next: () => undefined }));
  assert.equal(web.finalCode(of(exited(0), runs, exited(7))), undefined);
  assert.equal(web.finalCode(of(exited(0), exited(6), exited(7))), 6);
  assert.equal(new ExitWith("web-2", specOf).finalCode(of(runs, exited(6), runs)), 6);
});

test("an unknown id is an error that suggests a similar one", () => {
  for (const id of ["job", "web", "web-3"]) checkExitWith(id, { processes });
  assert.throws(() => checkExitWith("jbo", { processes }), {
    code: "usage",
    message: /"jbo": .*no process with this id.*Did you mean "job"/,
  });
  assert.throws(() => checkExitWith("web-4", { processes }), /no process with this id/);
});

test("a process that is never over by itself causes a warning, as procman would wait for its end forever", () => {
  const doubt = (more: object): string | undefined => {
    const raw = { processes: [{ id: "job", cmd: "x", cluster: { instances: 2 }, ...more }] };
    return exitWithWarning("job", normalise(raw, { folder: "/", parallelism: 1, now: new Date(0), stripsTypes: false }));
  };
  for (const more of [{}, { autostart: true }, { restart: "error" }, { restart: "always", restartLimit: 3 }])
    assert.equal(doubt(more), undefined);
  assert.match(
    doubt({ restart: "always" }) ?? "",
    /^--exit-with job: it has "restart": "always" without "restartLimit", .* stopped by hand/,
  );
  assert.match(doubt({ cron: "0 3 * * *" }) ?? "", /^--exit-with job: it has a "cron" schedule, so procman never ends with it$/);
});

/** What a limited token sees: docs/reference/security.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import type { RawProcess } from "../config/config-schema.ts";
import { normalise } from "../config/normalise.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { LogEntry, ProcessRecord } from "../contract/records.ts";
import type { TokenLimits } from "../contract/token-claims.ts";
import { TokenView } from "./view.ts";

const TIME = "2026-01-01T00:00:00.000Z";

function specsOf(...processes: readonly RawProcess[]): readonly ProcessSpec[] {
  return normalise(
    { processes: [...processes] },
    { folder: "/srv", parallelism: 1, now: new Date(0), stripsTypes: false },
  ).processes;
}

function viewOf(limits: Partial<TokenLimits>, ...processes: readonly RawProcess[]): TokenView {
  const specs = specsOf(...processes);
  return new TokenView({ processes: [], groups: [], ...limits }, { all: specs });
}

const WEB: RawProcess = { id: "web", cmd: "web", groups: "front", cluster: { instances: 2 } };
const DB: RawProcess = { id: "db", cmd: "db", groups: ["back"] };
const CACHE: RawProcess = { id: "cache", cmd: "cache", groups: ["back"], cluster: { instances: 2 } };

test("limits name processes, instances, clusters and groups; nothing else is seen, nor entries of procman itself", () => {
  const allowed = (limits: Partial<TokenLimits>): string =>
    ["web-1", "web-2", "db", "cache-1", ""].filter((id) => viewOf(limits, WEB, DB, CACHE).allows(id)).join();
  assert.equal(allowed({ processes: ["db"] }), "db");
  assert.equal(allowed({ processes: ["web-2"] }), "web-2");
  assert.equal(allowed({ processes: ["web"] }), "web-1,web-2");
  assert.equal(allowed({ groups: ["back"] }), "db,cache-1");
  assert.equal(allowed({ groups: ["front"], processes: ["db"] }), "web-1,web-2,db");
  assert.equal(allowed({}), "");
  assert.equal(allowed({ processes: ["all", "group:back", "*", ""], groups: ["all", ""] }), "");
});

test("a removed instance is seen with its cluster; a separate process of such a name is not", () => {
  const view = viewOf({ processes: ["web"], groups: ["back"] }, WEB, DB, CACHE, { id: "web-7", cmd: "other" });
  assert.ok(view.allows("web-5", 5));
  assert.ok(view.allows("cache-9", 9));
  assert.ok(!view.allows("web-5", 0), "an entry without an instance is none of the cluster");
  assert.ok(!view.allows("web-7", 7));
  assert.ok(!view.allows("gone"));
});

test("with another configuration, the groups of that one count", () => {
  const specs = { all: specsOf(WEB, DB) };
  const view = new TokenView({ processes: [], groups: ["back"] }, specs);
  assert.deepEqual([view.allows("db"), view.allows("web-1")], [true, false]);
  specs.all = specsOf({ ...WEB, groups: "back" }, { ...DB, groups: "front" });
  assert.deepEqual([view.allows("db"), view.allows("web-1")], [false, true]);
});

test("texts of procman don't name other processes, instances, former instances or clusters", () => {
  const view = viewOf({ groups: ["front"] }, WEB, DB, CACHE);
  for (const [text, seen] of [
    ["waits for db (ready), web (started)", "waits for another process (ready), web (started)"],
    ["restarted with cache, on which it depends.", "restarted with another process, on which it depends."],
    ['port 3000 is in use by "cache-2" (pid 7)', 'port 3000 is in use by "another process" (pid 7)'],
    ["when cache-9 has stopped: db.", "when another process has stopped: another process."],
    [
      "its file /var/db/log is full; web-1 and dbx, my-db run",
      "its file /var/db/log is full; web-1 and dbx, my-db run",
    ],
    ["db:2 is away", "another process:2 is away"],
  ] as const)
    assert.equal(view.text(text), seen);
});

test("records, incidents and errors are without other processes; the output of a process stays as it is", () => {
  const view = viewOf({ groups: ["front"] }, WEB, DB, CACHE);
  const record: ProcessRecord = {
    id: "web-1",
    type: "process",
    status: "waiting",
    blocked: false,
    restarts: 0,
    reason: "waits for db (ready)",
    waitsFor: "db (ready)",
    cause: { waitsFor: [{ process: "db", condition: "ready" }] },
    skippedBy: ["web", "db"],
    dependsOn: [
      { process: "db", condition: "ready" },
      { process: "web", condition: "started" },
    ],
  };
  const { reason, waitsFor, dependsOn, skippedBy } =
    view.record({ ...record, id: "web", instances: [record] }).instances?.[0] ?? record;
  assert.deepEqual(
    [reason, waitsFor, dependsOn?.length],
    ["waits for another process (ready)", "another process (ready)", 1],
  );
  assert.deepEqual(skippedBy, ["web"]);
  const entry = (category: LogEntry["category"]): LogEntry => ({
    time: TIME,
    process: "web-1",
    severity: "info",
    category,
    text: "db is up",
  });
  const incident = view.incident({
    time: TIME,
    process: "web-1",
    run: 1,
    cause: "operator",
    reason: "was stopped (db, on which it depends, was started again); it exited with code 0",
    decision: "starts again at once",
    end: { kind: "operator", code: 0, request: { kind: "dependency", process: "db" } },
    metrics: [],
    lines: [entry("stdout"), entry("lifecycle")],
  });
  assert.equal(
    incident.reason,
    "was stopped (another process, on which it depends, was started again); it exited with code 0",
  );
  assert.deepEqual(incident.end, { kind: "operator", code: 0, request: { kind: "dependency" } });
  assert.deepEqual(
    incident.lines.map(({ text }) => text),
    ["db is up", "another process is up"],
  );
  const error = view.error(new ProcmanError("roll-running", 'Cannot restart: a rolling restart of "db" is under way'));
  assert.match((error as Error).message, /of "another process" is/);
  const failed = view.error(new ProcmanError("process-failed", "Cannot start", { processes: ["web-1", "db"] }));
  assert.deepEqual((failed as ProcmanError).processes, ["web-1"]);
  const faults = [{ place: "processes[1].cmd", message: "Found 7" }];
  const quoting = view.error(
    new ProcmanError("configuration-invalid", "processes[1].cmd: db", { faults }),
  ) as ProcmanError;
  assert.deepEqual([quoting.faults, /db|processes/.test(quoting.message)], [[], false]);
});

test("the cause of a state is told from its data: each name in it is that of a process that is seen, or replaced", () => {
  const view = viewOf({ groups: ["front"] }, WEB, DB, CACHE);
  const record: ProcessRecord = {
    id: "web-1",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "",
  };
  const reasonOf = (more: Partial<ProcessRecord>): string =>
    view.record({ ...record, ...more } as ProcessRecord).reason;
  const stop = { kind: "operator", phase: "waiting-dependents", dependents: ["web-2", "db"] } as const;
  assert.equal(
    reasonOf({ status: "stopping", cause: { stop } }),
    "is being stopped, when web-2, another process has stopped",
  );
  const end = { kind: "exit", code: 3 } as const;
  const next = { kind: "none", why: "failed" } as const;
  const skip = { path: ["web", "cache"], process: "cache-1", end, next };
  assert.equal(
    reasonOf({ status: "skipped", cause: { skip } }),
    "is skipped: it depends on web, which depends on another process, which has failed permanently: exited with code 3; not restarted",
  );
  const held = { kind: "none", why: "instances", process: "cache-1" } as const;
  assert.equal(
    reasonOf({ ready: true, healthy: false, cause: { problem: "HTTP 500", next: held } }),
    "runs, but is not healthy (HTTP 500), and not restarted: another process is being restarted",
  );
  assert.equal(
    reasonOf({ ready: true, cause: { connectionProblem: "its port is in use by db" } }),
    "runs, but its port is in use by another process",
  );
});

test("an end is told from its data, without the names of others; an incident of 1.0.0 has its code alone", () => {
  const view = viewOf({ groups: ["front"] }, WEB, DB, CACHE);
  const run = {
    process: "web-1",
    run: 1,
    cause: "exit",
    code: 3,
    reason: "exited with code 3 (held by db, node)",
  } as const;
  const port = { port: 3_000, program: "node (pid 7)" };
  const reasonOf = (process?: string): string =>
    view.run({ ...run, end: { kind: "exit", code: 3, port: { ...port, ...(process && { process }) } } }).reason;
  const sentence = (holder: string): string =>
    `exited with code 3 (its port 3000 is in use by ${holder}; stop it, or choose another port)`;
  assert.equal(reasonOf("web-2"), sentence("web-2, node (pid 7)"));
  assert.equal(reasonOf("cache-2"), sentence("node (pid 7)"));
  assert.equal(view.run(run).reason, "exited with code 3");
  const end = { kind: "unstartable", message: "its lock is held by db" } as const;
  assert.deepEqual(view.run({ ...run, cause: end.kind, end }).end?.message, "its lock is held by another process");
  assert.equal(view.run({ process: "web-1", run: 2, reason: "is running" }).reason, "is running");
});

test("events of others, of plugins and of procman's log are left out", () => {
  const view = viewOf({ groups: ["front"] }, WEB, DB, CACHE);
  const common = { id: "1", time: TIME };
  assert.equal(view.event({ ...common, type: "process.watch", process: "db", file: "a" }), undefined);
  assert.equal(view.event({ ...common, type: "process.scheduled", process: "cache-1", text: "starts" }), undefined);
  assert.equal(view.event({ ...common, type: "plugin.state", plugin: {} as never }), undefined);
  assert.ok(view.event({ ...common, type: "process.watch", process: "web-1", file: "a" }));
  const scaled = { ...common, type: "process.scaled", from: 2, to: 2, text: "stays at 2" } as const;
  assert.ok(view.event({ ...scaled, process: "web" }));
  assert.equal(view.event({ ...scaled, process: "db" }), undefined);
  const refused = (process: string) => ({
    ...{ ...common, type: "process.incident" as const },
    incident: {
      ...{ time: TIME, process, run: 0, cause: "growth-refused" as const, decision: "", lines: [], metrics: [] },
      reason: "stays at 2: its port is in use by db",
    },
  });
  const seen = view.event(refused("web"));
  assert.equal(
    seen?.type === "process.incident" ? seen.incident.reason : "",
    "stays at 2: its port is in use by another process",
  );
  assert.equal(view.event(refused("cache")), undefined);
});

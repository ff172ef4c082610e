import assert from "node:assert/strict";
import { test } from "node:test";
import { age, size } from "../../core/base/quantity.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { nextTable, plannedOf } from "../commands/next-command.ts";
import { selected } from "../options.ts";
import { statusTable } from "./status-table.ts";

test("groups have a column in a wide terminal and in a pipe, not at 80 columns, nor without groups", () => {
  const grouped = [
    { ...WEB, groups: ["backend", "public"] },
    { ...API, groups: ["public"] },
  ];
  for (const columns of [undefined, 200]) {
    const [head = "", web = "", api = "", instance = ""] = statusTable(
      grouped,
      columns === undefined ? {} : { columns },
      NOW,
    ).split("\n");
    assert.match(head, /GROUPS +WHY$/);
    assert.match(web, / backend, public( |$)/);
    assert.match(api, / public( |$)/);
    assert.doesNotMatch(instance, /public/);
  }
  assert.doesNotMatch(statusTable(grouped, { columns: 80 }, NOW), /GROUPS|backend/);
  assert.doesNotMatch(statusTable([WEB], {}, NOW), /GROUPS/);
});

test("selected takes groups, whose clusters come with their instances", () => {
  const records = [{ ...WEB, groups: ["a"] }, JOB, { ...API, groups: ["a", "b"] }];
  const ids = (...wanted: readonly string[]): readonly string[] => selected(records, wanted).map(({ id }) => id);
  assert.deepEqual(
    [ids("group:a"), ids("group:b", "job"), ids("group:b", "all")],
    [
      ["web", "api"],
      ["job", "api"],
      ["web", "job", "api"],
    ],
  );
  assert.throws(() => ids("group:c"), /Cannot find group "c": no process is in it\./);
  assert.throws(() => ids("a"), /Did you mean the group, "group:a"\?/);
});

const NOW = Date.parse("2026-11-21T12:00:00Z");
const WEB: ProcessRecord = {
  id: "web",
  type: "process",
  status: "running",
  blocked: false,
  pid: 4711,
  restarts: 2,
  started: "2026-11-21T11:58:00Z",
  reason: "runs, restarted 2 times, for reasons that take a while to tell",
  cpuPercent: 12.34,
  memoryBytes: 48_123_904,
  residentBytes: 90_000_000,
};
const JOB: ProcessRecord = {
  id: "job",
  type: "process",
  status: "stopped",
  blocked: true,
  restarts: 0,
  reason: "was stopped",
  started: "2026-11-21T11:00:00Z",
};
const API: ProcessRecord = {
  ...JOB,
  id: "api",
  type: "cluster",
  status: "mixed",
  blocked: false,
  instances: [
    { ...WEB, id: "api-1", cluster: "api", instance: 1, nextTerminate: "2026-11-21T14:00:00Z" },
    { ...JOB, id: "api-2", cluster: "api", instance: 2, nextRun: "2026-11-21T13:00:00Z" },
  ],
};

test("numbers are right-aligned, instances are below their cluster, and stopped processes have no time", () => {
  assert.equal(
    statusTable([WEB, { ...API, instances: API.instances?.slice(0, 1) ?? [] }, JOB], {}, NOW).replace(
      /for reasons.*/g,
      "…",
    ),
    [
      "ID       STATUS             PID     UP     CPU   MEMORY      RSS  RESTARTS  WHY",
      "web      running           4711  2 min  12.3 %  48.1 MB  90.0 MB         2  runs, restarted 2 times, …",
      "api      mixed                                                           0  was stopped",
      "  api-1  running           4711  2 min  12.3 %  48.1 MB  90.0 MB         2  runs, restarted 2 times, …",
      "job      stopped, blocked                                                0  was stopped",
    ].join("\n"),
  );
});

test("2.7 the number of overlapping runs is shown", () => {
  const runs = [
    { run: 1, pid: 4700 },
    { run: 2, pid: 4711 },
  ] as const;
  assert.match(statusTable([{ ...WEB, runs }], {}, NOW), /^web +running, 2 runs +4711 /m);
  assert.match(statusTable([{ ...WEB, runs: runs.slice(1) }], {}, NOW), /^web +running +4711 /m);
});

test("columns of a run are there before the first values, too: scripts find them in the same place", () => {
  const head = /^ID {3}STATUS +PID {2,}UP {2,}CPU {2,}MEMORY {2,}RSS {2}RESTARTS {2}WHY\n/;
  assert.match(statusTable([JOB], {}, NOW), head);
  assert.match(statusTable([WEB], {}, NOW), head);
});

test("a process that needs more than its memory limit says so before it is stopped for that", () => {
  const over = { ...WEB, reason: "runs", memoryLimitBytes: 48_000_000 };
  assert.match(statusTable([over], {}, NOW), / runs; needs more than its memory limit of 48\.0 MB$/);
  assert.match(statusTable([{ ...over, memoryLimitBytes: 49_000_000 }], {}, NOW), / runs$/);
});

const BACKEND = {
  port: 3000,
  accepting: true,
  connections: 12,
  totalConnections: 99,
  receivedBytes: 1,
  sentBytes: 2,
  refused: 0,
};

for (const width of [32, 40, 60, 80, 100, 140])
  test(`the table fits a terminal of ${width} columns`, () => {
    const long = { ...WEB, id: "a-process-of-a-very-long-name-that-is-allowed", backend: BACKEND };
    const lines = statusTable([WEB, API, JOB, long], { columns: width }, NOW).split("\n");
    assert.deepEqual(
      lines.filter((line) => line.length > width),
      [],
    );
  });

test("a reason that doesn't fit in its row is wrapped below it, and the columns that are left out are named", () => {
  assert.deepEqual(statusTable([{ ...WEB, backend: BACKEND }, JOB], { columns: 76 }, NOW).split("\n"), [
    "ID   STATUS             PID     UP     CPU   MEMORY  RESTARTS  WHY",
    "web  running           4711  2 min  12.3 %  48.1 MB         2",
    "     runs, restarted 2 times, for reasons that take a while to tell",
    "job  stopped, blocked                                       0  was stopped",
    "(no room for RSS, CONNECTIONS)",
  ]);
  assert.deepEqual(statusTable([WEB, JOB], { columns: 40 }, NOW).split("\n"), [
    "ID   STATUS             PID  WHY",
    "web  running           4711",
    "     runs, restarted 2 times, for",
    "     reasons that take a while to tell",
    "job  stopped, blocked        was stopped",
    "(no room for UP, CPU, MEMORY, RSS,",
    "RESTARTS)",
  ]);
});

test("a long id is shortened in the middle before columns are left out", () => {
  const id = "payments-reconciliation-service-production-for-europe-and-asia";
  assert.deepEqual(statusTable([WEB, { ...WEB, id, reason: "runs" }], { columns: 80 }, NOW).split("\n"), [
    "ID                     STATUS    PID     UP     CPU   MEMORY  RESTARTS  WHY",
    "web                    running  4711  2 min  12.3 %  48.1 MB         2",
    "                    runs, restarted 2 times, for reasons that take a while to",
    "                    tell",
    "payments-r…e-and-asia  running  4711  2 min  12.3 %  48.1 MB         2  runs",
    "(no room for RSS)",
  ]);
});

test("a word that is longer than the terminal is broken", () => {
  const reason = `cannot read ${"/very/long/path".repeat(5)}`;
  const lines = statusTable([{ ...WEB, reason }], { columns: 60 }, NOW).split("\n");
  assert.equal(
    lines
      .slice(2, -1)
      .map((line) => line.trim())
      .join(""),
    reason.replace(" /", "/"),
  );
});

test("a terminal of unknown width gets all columns", () => {
  assert.equal(statusTable([WEB, JOB], { columns: 0 }, NOW), statusTable([WEB, JOB], {}, NOW));
});

test("colors are for terminals without NO_COLOR", () => {
  const before = process.env.NO_COLOR;
  delete process.env.NO_COLOR;
  try {
    assert.ok(statusTable([WEB], { isTTY: true }, NOW).includes("\u001b[32mrunning\u001b[0m"));
    process.env.NO_COLOR = "1";
    assert.ok(!statusTable([WEB], { isTTY: true }, NOW).includes("\u001b"));
  } finally {
    if (before === undefined) delete process.env.NO_COLOR;
    else process.env.NO_COLOR = before;
  }
});

test("ids select processes, instances and clusters; an unknown one is reported with the nearest", () => {
  const all = [WEB, API, JOB];
  const ids = (...wanted: readonly string[]): readonly string[] => selected(all, wanted).map(({ id }) => id);
  assert.deepEqual(ids(), ["web", "api", "job"]);
  assert.deepEqual(ids("all", "web"), ["web", "api", "job"]);
  assert.deepEqual(ids("job", "web"), ["web", "job"]);
  assert.deepEqual(ids("api-2"), ["api-2"]);
  assert.deepEqual(ids("api", "api-2"), ["api"]);
  assert.throws(() => ids("wbe"), /Cannot find process "wbe": no process has this id\. Did you mean "web"\?/);
});

test("scheduled actions are listed soonest first, also those of a cluster's instances", () => {
  assert.deepEqual(plannedOf([{ ...JOB, nextRestart: "2026-11-21T12:00:05Z" }, API, WEB]), [
    { process: "job", action: "restart", time: "2026-11-21T12:00:05Z" },
    { process: "api-2", action: "start", time: "2026-11-21T13:00:00Z" },
    { process: "api-1", action: "terminate", time: "2026-11-21T14:00:00Z" },
  ]);
});

test("what a schedule sets the size of a cluster to is listed with its time", () => {
  const scale = { min: 2, max: 8, desired: 2, nextSchedule: "2026-11-21T13:00:00Z" };
  const bounds = { nextMin: 4, nextMax: 8, timeZone: "Europe/Berlin" };
  const planned = plannedOf([
    { ...API, instances: [], scale: { ...scale, ...bounds } },
    { ...API, instances: [], id: "db", scale: { ...scale, nextMin: 3, nextMax: 3, pinned: true } },
    { ...API, instances: [], id: "old", scale },
  ]);
  const { nextSchedule: time } = scale;
  assert.deepEqual(planned[0], {
    process: "api",
    action: "scale",
    time,
    timeZone: "Europe/Berlin",
    min: 4,
    max: 8,
  });
  assert.deepEqual(
    nextTable(planned, 200, Date.parse("2026-11-21T12:00:00Z"))
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/^.*in 1 h +/, "").trimEnd()),
    [
      "scale to at least 4, at most 8 instances          api",
      "scale to 3 instances, but not while it is pinned  db",
      "scale                                             old",
    ],
  );
});

test("durations and sizes have few digits", () => {
  assert.deepEqual([0, 59_999, 60_000, 3_600_000 * 47, 3_600_000 * 48].map(age), [
    "0 s",
    "59 s",
    "1 min",
    "47 h",
    "2 d",
  ]);
  assert.deepEqual([0, 999, 1_000, 48_123_904, 99_950_000, 999_600_000, 2.5e12].map(size), [
    "0 B",
    "999 B",
    "1.0 kB",
    "48.1 MB",
    "100 MB",
    "1.0 GB",
    "2.5 TB",
  ]);
});

test("control characters in a reason are shown, also line ends", () => {
  const text = statusTable([{ ...JOB, reason: "its port is in use by \u001b]0;OWNED\u0007\nx" }], {});
  assert.match(text, /in use by \\x1b\]0;OWNED\\x07\\x0ax$/);
});

test("what runs is green only when it is ready and healthy", () => {
  const colors = (more: object) =>
    statusTable([{ ...WEB, ...more }], { isTTY: true }, NOW).match(/\u001b\[(\d+)mrunning/)?.[1];
  assert.equal(colors({}), "32");
  assert.equal(colors({ ready: true, healthy: true }), "32");
  assert.equal(colors({ ready: false }), "33");
  assert.equal(colors({ healthy: false }), "33");
  assert.equal(colors({ type: "cluster", ready: false }), "33");
});

test("a time is that of the host; if the schedule's zone has another one, that is shown, too", () => {
  const before = process.env.TZ;
  process.env.TZ = "UTC";
  const at = "2026-11-22T02:00:00Z";
  const job = (timeZone: string): ProcessRecord => ({ ...JOB, nextRun: at, timeZone });
  assert.match(
    statusTable([job("Europe/Berlin")], {}, NOW),
    /next run 2026-11-22T02:00:00Z \(03:00:00 in Europe\/Berlin\)$/,
  );
  assert.match(statusTable([job("Africa/Abidjan")], {}, NOW), /next run 2026-11-22T02:00:00Z$/);
  assert.deepEqual(plannedOf([job("Europe/Berlin")]), [
    { process: "job", action: "start", time: at, timeZone: "Europe/Berlin" },
  ]);
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

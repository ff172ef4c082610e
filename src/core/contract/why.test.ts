/** `procman why`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessRecord } from "./records.ts";
import type { Incident } from "./run-summary.ts";
import { explain, explainCluster, explainPastRuns } from "./why.ts";

// The sentences have host time.
process.env.TZ = "UTC";
const NOW = Date.UTC(2026, 5, 1, 12);
const at = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1_000).toISOString();
const record: ProcessRecord = {
  id: "web",
  type: "process",
  status: "running",
  blocked: false,
  pid: 12,
  restarts: 0,
  started: at(60),
  reason: "runs",
  cause: {},
};

function incident(more: Partial<Incident> = {}): Incident {
  return {
    time: at(61),
    process: "web",
    run: 3,
    pid: 11,
    cause: "exit",
    code: 3,
    reason: "exited with code 3 after 5 s",
    decision: "restart 3 of 5 in 400 ms",
    lines: [],
    metrics: [],
    ...more,
  };
}

test("why: a process without incidents", () => {
  assert.deepEqual(explain(record, [], NOW), [
    "web runs (pid 12) since 2026-06-01T11:59:00Z.",
    "It has not exited yet.",
  ]);
});

test("why: what followed an end is a sentence, also if nothing did", () => {
  for (const [next, sentence] of [
    [{ kind: "restart", restart: 1 }, "What followed: restart 1 at once."],
    [{ kind: "none" }, "It was not restarted."],
    [{ kind: "none", why: "stopped" }, "It was not restarted."],
    [{ kind: "none", why: "finished" }, "It was not restarted."],
    [{ kind: "none", why: "permanent" }, "It was not restarted."],
    [{ kind: "none", why: "policy" }, "It was not restarted (it has no restart policy)."],
    [{ kind: "none", why: "exhausted", limit: 1 }, "It was not restarted: its one restart is used up."],
  ] as const)
    assert.equal(
      explain(record, [incident({ next })], NOW)[1],
      `At 2026-06-01T11:58:59Z run 3 of web (pid 11) exited with code 3 after 5 s. ${sentence}`,
    );
  assert.match(
    explain(record, [incident({ decision: "none: it was stopped" })], NOW)[1] ?? "",
    /followed: none: it was/,
  );
});

test("why: trouble of a running process is in its first sentence", () => {
  for (const [more, rest] of [
    [
      { cause: { logProblem: "Cannot write /srv/web.log: permission denied" } },
      "; Cannot write /srv/web.log: permission denied",
    ],
    [
      { healthy: false, cause: { problem: "HTTP 500", next: { kind: "none" } } },
      ", but is not healthy (HTTP 500), and not restarted yet",
    ],
    [{ ready: false, cause: {} }, ", is not ready yet"],
  ] as const)
    assert.equal(
      explain({ ...record, restarts: 1, ...more }, [], NOW)[0],
      `web runs (pid 12) since 2026-06-01T11:59:00Z${rest}.`,
    );
  const { cause: _, ...earlier } = record;
  assert.equal(
    explain({ ...earlier, reason: "runs, is not ready yet" }, [], NOW)[0],
    "web runs (pid 12) since 2026-06-01T11:59:00Z: runs, is not ready yet.",
    "procman 1.0.0 gives no cause",
  );
});

test("why: overlapping runs are named one by one", () => {
  const runs = [{ run: 4, pid: 11, started: at(90) }, { run: 5, pid: 12, started: at(60) }, { run: 6 }];
  assert.deepEqual(
    explain({ ...record, run: 6, runs }, [], NOW)[0],
    "web has 3 runs: run 4 (pid 11) since 2026-06-01T11:58:30Z, run 5 (pid 12) since 2026-06-01T11:59:00Z, run 6.",
  );
});

test("why: what has happened, how often, the last lines, and what to do", () => {
  const lines = [{ time: at(62), severity: "error", category: "stderr", text: "Error: no database" } as const];
  const metrics = [{ time: at(65), cpuPercent: 20.4, memoryBytes: 52_428_800, processes: 1 }];
  const story = explain(
    record,
    [incident({ lines, metrics, leftOut: 4 }), incident({ run: 2 }), incident({ run: 1 })],
    NOW,
  );
  assert.deepEqual(story, [
    "web runs (pid 12) since 2026-06-01T11:59:00Z.",
    "Runs that ended in the last 24 hours: 7 (7 × ended by itself).",
    "At 2026-06-01T11:58:59Z run 3 of web (pid 11) exited with code 3 after 5 s. What followed: restart 3 of 5 in 400 ms.",
    "4 ends just before this one came too fast to be recorded.",
    "In the minutes before, it used up to 52.4 MB of memory and 20 % of a core.",
    "Its last lines:",
    "  Error: no database",
    "It has ended in the same way 3 times: restarting does not help.",
    "It ended with code 3 by itself: its last lines may say why.",
  ]);
});

test("why: if earlier ends may have been dropped, the number of ends is a lower bound", () => {
  const counted = (runs: readonly number[], time?: string): string =>
    explain(
      record,
      runs.map((run, index) => incident({ run, ...(index === runs.length - 1 && time !== undefined ? { time } : {}) })),
      NOW,
    ).find((text) => text.startsWith("Runs that ended")) ?? "";
  assert.match(counted([9, 8]), /24 hours: at least 2 \(2 × /);
  assert.match(counted([2, 1]), /24 hours: 2 \(2 × /);
  assert.match(counted([9, 8, 7], "2026-05-01T00:00:00Z"), /24 hours: 2 \(2 × /);
});

test("why: a full JavaScript heap is named, even before a long trace", () => {
  const line = (text: string) => ({ time: at(62), severity: "error", category: "stderr", text }) as const;
  const full = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory";
  const trace = Array.from({ length: 18 }, (_, index) => line(`${index}: 0xd3607f node::Start`));
  const end = {
    cause: "signal",
    signal: "SIGABRT",
    code: undefined,
    lines: [line("before"), line(full), ...trace],
  } as never;
  const story = explain(record, [incident(end)], NOW);
  assert.deepEqual(story.slice(2, 5), ["Its last lines:", `  ${full}`, "  …"]);
  assert.match(story.at(-1) ?? "", /^Its JavaScript heap was full: .*--max-old-space-size/);
});

test("why: the error above a long trace is shown with the last lines", () => {
  const line = (text: string) => ({ time: at(62), severity: "error", category: "stderr", text }) as const;
  const trace = Array.from({ length: 12 }, (_, index) => line(`    at step${index} (node:net:1908:16)`));
  const explained = (...lines: readonly ReturnType<typeof line>[]) =>
    explain(record, [incident({ lines })], NOW).slice(3, 5);
  for (const text of [
    "Error: listen EADDRINUSE: address already in use :::3000",
    "TypeError [ERR_X]: x is not a function",
    'Exception in thread "main" java.lang.IllegalStateException: x',
  ])
    assert.deepEqual(explained(line("before"), line(text), ...trace), [`  ${text}`, "  …"]);
  assert.deepEqual(explained(line("Error: old"), ...trace, line("KeyError: 'new'")), [
    "      at step3 (node:net:1908:16)",
    "      at step4 (node:net:1908:16)",
  ]);
  assert.deepEqual(explained(line("no error: none"), ...trace), [
    "      at step2 (node:net:1908:16)",
    "      at step3 (node:net:1908:16)",
  ]);
});

test("why: a process whose restarts are used up is to be started once the cause is removed", () => {
  const gone: ProcessRecord = {
    id: "web",
    type: "process",
    status: "exhausted",
    blocked: true,
    restarts: 3,
    reason: "exited with code 127; its 3 restarts are used up",
  };
  const story = explain(gone, [incident({ code: 127 })], NOW);
  assert.equal(story[0], "web does not run (exhausted): it exited with code 127; its 3 restarts are used up.");
  assert.match(story[1] ?? "", /^It is blocked: .*"procman unblock web"/);
  assert.deepEqual(story.slice(-2), [
    'The shell found no such command: look at "cmd" and PATH.',
    'When the cause is fixed: "procman start web".',
  ]);
});

test("why: each cause has its own advice, requested ends have none", () => {
  const advice = (more: Partial<Incident>): string | undefined => explain(record, [incident(more)], NOW)[2];
  assert.match(advice({ cause: "out-of-memory", signal: "SIGKILL" }) ?? "", /memory/);
  assert.match(advice({ cause: "signal", signal: "SIGSEGV" }) ?? "", /crash/);
  assert.match(advice({ cause: "signal", signal: "SIGKILL" }) ?? "", /^SIGKILL did not come from procman/);
  assert.match(advice({ cause: "timeout" }) ?? "", /raise "timeout"/);
  assert.match(advice({ code: 126 }) ?? "", /look at its permissions/);
  const line = {
    time: at(62),
    severity: "error",
    category: "stderr",
    text: "Cannot start: the limit nofile cannot be 9000000",
  } as const;
  assert.match(
    explain(record, [incident({ code: 78, lines: [line] })], NOW).at(-1) ?? "",
    /^Lower that limit in "ulimits", or raise the hard/,
  );
  assert.equal(advice({ cause: "unstartable" }), undefined, "it runs, so that is corrected");
  assert.match(
    explain({ ...record, status: "errored" }, [incident({ cause: "unstartable" })], NOW)[2] ?? "",
    /^Correct the problem above/,
  );
  for (const cause of ["operator", "shutdown", "terminate", "watch"] as const)
    assert.equal(advice({ cause, code: 0 }), undefined);
  assert.equal(advice({ code: 0 }), undefined, "it has finished");
  assert.equal(advice({ code: 3, success: true }), undefined, "code 3 counts as success");
});

test("why: the core dump of a crash is named, or how to get one", () => {
  const story = (core?: NonNullable<Incident["end"]>["core"]): readonly string[] => {
    const end = { kind: "signal", signal: "SIGSEGV", ...(core && { core }) } as const;
    return explain(record, [incident({ cause: "signal", signal: "SIGSEGV", end })], NOW).slice(2);
  };
  const advice = "SIGSEGV is a crash of the program or one of its libraries:";
  const look = `${advice} look at its core dump in a debugger.`;
  assert.deepEqual(story({ file: "/srv/core.11" }), ["Its core dump is /srv/core.11.", look]);
  const program = "/lib/systemd/systemd-coredump";
  const passed = `The kernel passes core dumps to ${program}`;
  assert.deepEqual(story({ program, command: "coredumpctl info 11" }), [`${passed}: see "coredumpctl info 11".`, look]);
  assert.deepEqual(story({ program }), [`${passed}.`, look]);
  assert.deepEqual(story(), [
    `${advice} run it in a debugger, or let the kernel write a core dump: "ulimits": { "core": "unlimited" }.`,
  ]);
});

test("why: an old incident is shown once, but not counted", () => {
  const story = explain(record, [incident({ time: at(200_000) }), incident({ time: at(300_000) })], NOW);
  assert.ok(!story.some((line) => line.includes("last 24 hours")));
  assert.match(story[1] ?? "", /run 3 of web/);
});

test("why: while procman isn't running, the story comes from disk, without the advice to start the process", () => {
  const story = explainPastRuns({ id: "web", incidents: [incident({ code: 127 })], until: at(5) }, false, NOW);
  assert.deepEqual(story, [
    "procman is not running; its state folder has this about web, until 2026-06-01T11:59:55Z.",
    "At 2026-06-01T11:58:59Z run 3 of web (pid 11) exited with code 3 after 5 s. What followed: restart 3 of 5 in 400 ms.",
    'The shell found no such command: look at "cmd" and PATH.',
  ]);
  assert.equal(
    explainPastRuns({ id: "web", incidents: [] }, true, NOW)[0],
    "procman does not answer; its state folder has this about web.",
  );
});

test("why: a run without a recorded end is shown with the reason", () => {
  const lines = [{ time: at(9), severity: "info", category: "stdout", text: "working" } as const];
  const explained = (how: "machine" | "procman" | "runs") =>
    explainPastRuns(
      { id: "web", incidents: [], unended: { started: at(30), pid: 12, lines, how, booted: at(3) } },
      false,
      NOW,
    ).slice(1);
  const start = "The run started at 2026-06-01T11:59:30Z (pid 12) has no recorded end:";
  assert.deepEqual(explained("machine"), [
    `${start} the machine was rebooted at 2026-06-01T11:59:57Z.`,
    "Its last lines:",
    "  working",
  ]);
  assert.equal(explained("procman")[0], `${start} procman itself ended during the run.`);
  assert.equal(explained("runs")[0], `${start} it is still running.`);
});

test("why: an instance that another one keeps from its port is told how each gets its own; for another program the reason says enough", () => {
  const last = (process: string, port: object): string =>
    explain(
      record,
      [
        incident({
          process: "web-2",
          end: { kind: "exit", code: 1, port: { port: 80, program: "node (pid 9)", process, ...port } },
        }),
      ],
      NOW,
    ).at(-1) ?? "";
  assert.match(last("web-1", {}), /^Its instances want the same port: "cluster\.startPort" gives each its own/);
  for (const text of [last("api", {}), last("web-1", { own: 81 })]) assert.match(text, /^At .* run 3 of web-2/);
});

test("why: growth that was refused in the last day is counted, and is no end of a run", () => {
  const scale = { min: 1, max: 8, desired: 4 };
  const refused = incident({
    ...{ run: 0, cause: "growth-refused", time: at(600), ended: at(300) },
    ...{
      reason: "stays at 4: it would need 5, but an instance uses 1 GB of memory",
      decision: "it has 5 instances now",
    },
  });
  const [, sentence = "", ...others] = explainCluster(
    { ...record, scale },
    [refused, { ...refused, time: at(90_000) }],
    NOW,
  );
  assert.match(
    sentence,
    /^It was refused growth once in the last 24 hours, the last time from 2026-06-01T.* to .*: it stays at 4: it would/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(explain(record, [refused], NOW).slice(1), ["It has not exited yet."]);
});

test("why: a target that no instance reports", () => {
  const scale = { min: 2, max: 8, desired: 2, unknown: ["metric:queue", "cpu"] };
  assert.equal(
    explainCluster({ ...record, scale }).at(-1),
    "Its load is not known: no instance has reported metric:queue in the last minute, and cpu has not been measured yet. Until then it doesn't shrink, and grows only by other targets.",
  );
});

test("why: what the next schedule sets the size of a cluster to", () => {
  const scale = { min: 2, max: 8, desired: 2, nextSchedule: "2026-06-01T18:00:00.000Z" };
  const last = (more: object): string | undefined => explainCluster({ ...record, scale: { ...scale, ...more } }).at(-1);
  assert.match(last({ nextMin: 1, nextMax: 1 }) ?? "", /^From 2026-06-01T18:00:00.* on it has 1 instance\.$/);
  assert.match(last({ nextMin: 4, nextMax: 8 }) ?? "", / on it has at least 4, at most 8 instances\.$/);
  assert.match(last({ nextMin: 1, nextMax: 1, pinned: true }) ?? "", / has 1 instance, but not while it is pinned\.$/);
});

test("why: a port for clients that can't be opened, of a process and of a cluster", () => {
  const problem = "the port is in use by python3 (pid 12)";
  const balancer = {
    hostname: "127.0.0.1",
    port: 3000,
    strategy: "round-robin",
    problem,
    waiting: 0,
    rejected: 0,
  } as const;
  const process = { ...record, balancer } as const;
  const [sentence = ""] = explain(process, [], NOW);
  assert.ok(sentence.endsWith(`; not listening on 127.0.0.1:3000: ${problem}.`), sentence);
  const { balancer: _, ...instance } = process;
  const reason = `1 of 1 instances are running; not listening on 127.0.0.1:3000: ${problem}`;
  const cluster = { ...process, type: "cluster", reason, instances: [instance] } as const;
  assert.deepEqual(explainCluster(cluster), [`web is a cluster: ${reason}.`]);
  const { problem: __, ...open } = balancer;
  assert.deepEqual(explainCluster({ ...cluster, balancer: open }), []);
});

test("why: what keeps a process awake that could sleep, and whom it has not served in time", () => {
  const sleep = { afterSeconds: 300, wakeOn: "connect", wakes: 2, busy: "import.lock exists", turnedAway: 2 } as const;
  assert.deepEqual(explain({ ...record, status: "running", sleep }, [], NOW).slice(1), [
    "It stays awake: import.lock exists.",
    '2 clients were turned away, as it did not come up in time ("idle.wakeTimeout").',
    "It has not exited yet.",
  ]);
});

/** What the pictures of the documentation show: the processes of a shop at one fixed moment. */
import { join } from "node:path";
import { writtenParts } from "../src/core/config/written-parts.ts";
import type { DefinitionRecord } from "../src/core/contract/definition-record.ts";
import type { LogEntry, MetricPoint, ProcessRecord } from "../src/core/contract/records.ts";
import type { Incident } from "../src/core/contract/run-summary.ts";

/** Milliseconds since 1970. */
export const NOW = Date.parse("2026-11-24T14:30:07Z");

const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

const COMMON = { type: "process", blocked: false, restarts: 0 } as const;

function running(id: string, seconds: number, more: Partial<ProcessRecord>): ProcessRecord {
  const times = { started: ago(seconds), updated: ago(seconds) };
  const record = { ...COMMON, id, status: "running", reason: "runs", cause: {}, run: 1, ...times, ...more };
  return record as ProcessRecord;
}

/** Seconds since the last end of `web`. */
const SINCE_END = 1_500;

const API = [
  running("api-1", 9_300, { pid: 4_720, cpuPercent: 31.2, memoryBytes: 71_400_000, memoryLimitBytes: 128_000_000 }),
  running("api-2", 9_295, { pid: 4_731, cpuPercent: 27.9, memoryBytes: 69_800_000, memoryLimitBytes: 128_000_000 }),
].map((each, index) => ({ ...each, cluster: "api", instance: index + 1 }));

export const RECORDS: readonly ProcessRecord[] = [
  running("web", SINCE_END, {
    pid: 5_120,
    run: 2,
    restarts: 1,
    groups: ["front"],
    cpuPercent: 12.4,
    memoryBytes: 48_100_000,
    memoryLimitBytes: 100_000_000,
  }),
  {
    ...COMMON,
    id: "api",
    type: "cluster",
    status: "running",
    reason: "2 of 2 instances are running",
    ready: true,
    groups: ["front"],
    cpuPercent: 59.1,
    memoryBytes: 141_200_000,
    memoryLimitBytes: 256_000_000,
    instances: API,
  },
  running("worker", 240, {
    pid: 5_644,
    run: 4,
    restarts: 3,
    groups: ["back"],
    exited: ago(241),
    code: 1,
    cpuPercent: 3.1,
    memoryBytes: 41_300_000,
  }),
  {
    ...COMMON,
    id: "mailer",
    status: "exhausted",
    reason: "exited with code 1; its 3 restarts are used up",
    restarts: 3,
    run: 4,
    code: 1,
    groups: ["back"],
    started: ago(65),
    exited: ago(62),
    updated: ago(62),
  },
  running("db", 93_000, { pid: 1_310, groups: ["back"], cpuPercent: 1.7, memoryBytes: 212_600_000 }),
  {
    ...COMMON,
    id: "backup",
    status: "finished",
    reason: "finished",
    run: 30,
    code: 0,
    groups: ["jobs"],
    started: ago(41_410),
    exited: ago(41_407),
    updated: ago(41_407),
    nextRun: ago(-44_993),
  },
];

/** Of `web`, newest first. */
export const INCIDENTS: readonly Incident[] = [
  {
    time: ago(SINCE_END + 1),
    started: ago(9_300),
    process: "web",
    run: 1,
    cause: "exit",
    code: 1,
    reason: "exited with code 1",
    decision: "restart 1 of 10 in 1 s",
    metrics: [],
    lines: [
      {
        time: ago(SINCE_END + 1),
        process: "web",
        run: 1,
        severity: "error",
        category: "stderr",
        text: "Error: connect ECONNREFUSED 127.0.0.1:5432",
      },
    ],
  },
];

const WRITTEN = writtenParts(join(import.meta.dirname, "../examples/quickstart/procman.jsonc")).get("web");

/** Of `web`. */
export const DEFINITION: DefinitionRecord = {
  process: "web",
  groups: ["front"],
  argv: ["node", "web.mjs"],
  shell: false,
  cwd: "/srv/shop",
  user: "deploy",
  stdout: "/srv/shop/logs/web.log",
  stderr: "/srv/shop/logs/web.log",
  env: [{ name: "PORT", source: "env", value: "8080" }],
  envFiles: [],
  dependsOn: [],
  start: "with procman",
  restart: "after every end",
  stop: "SIGTERM to the process group, SIGKILL 30 s later",
  ...(WRITTEN && { written: { ...WRITTEN, file: "/srv/shop/procman.jsonc" } }),
};

const TEXTS: readonly (readonly [process: string, text: string])[] = [
  ["web", "\u001b[32mGET\u001b[0m /products/17 \u001b[32m200\u001b[0m 4 ms"],
  ["api-1", '{"level":"info","msg":"price of 17","ms":3}'],
  ["web", "\u001b[32mGET\u001b[0m /cart \u001b[32m200\u001b[0m 7 ms"],
  ["worker", "job 4821: invoice for order 90211 written in 310 ms"],
  ["web", "\u001b[33mPOST\u001b[0m /cart \u001b[33m422\u001b[0m 3 ms"],
  ["api-2", '{"level":"warn","msg":"slow query","table":"orders","ms":812}'],
  ["web", "\u001b[32mGET\u001b[0m / \u001b[32m200\u001b[0m 1 ms"],
  ["db", "checkpoint complete: wrote 84 buffers"],
  ["web", "!warning: session 7f31 has no cart, made a new one"],
  ["api-1", '{"level":"info","msg":"stock of 204","ms":2}'],
  ["web", "\u001b[32mGET\u001b[0m /products/204 \u001b[32m200\u001b[0m 5 ms"],
  ["worker", "job 4822: mail to 3 customers queued"],
  ["mailer", "!Error: connect ECONNREFUSED 127.0.0.1:2525"],
  ["web", "\u001b[33mPOST\u001b[0m /orders \u001b[32m201\u001b[0m 38 ms"],
];

/** Oldest first. A text with `!` at its beginning is of standard error. */
export function logEntries(count: number): readonly LogEntry[] {
  return Array.from({ length: count }, (_, index): LogEntry => {
    const [id, text] = TEXTS[index % TEXTS.length] ?? ["web", ""];
    const isError = text.startsWith("!");
    return {
      time: ago((count - index) * 0.73),
      process: id,
      run: 1,
      severity: isError ? "error" : "info",
      category: isError ? "stderr" : "stdout",
      text: isError ? text.slice(1) : text,
    };
  });
}

/** A curve that differs from process to process. `waveMs`: about its period. */
export function metricPoints(id: string, from: number, stepSeconds: number, waveMs = 180_000): readonly MetricPoint[] {
  const { cpuPercent, memoryBytes } = [...RECORDS, ...API].find((record) => record.id === id) ?? {};
  if (cpuPercent === undefined || memoryBytes === undefined) return [];
  const points: MetricPoint[] = [];
  for (let at = from; at <= NOW; at += stepSeconds * 1_000) {
    const x = at / waveMs + id.length;
    const wave = 1 + 0.45 * Math.sin(x) + 0.25 * Math.sin(2.7 * x) + 0.15 * Math.sin(9.1 * x);
    points.push({
      time: new Date(at).toISOString(),
      cpuPercent: cpuPercent * Math.max(0.1, wave),
      memoryBytes: memoryBytes * (0.85 + 0.1 * wave),
      processes: 1,
    });
  }
  return points;
}

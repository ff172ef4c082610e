/** What the pictures of the documentation show: the processes of examples/quickstart at one fixed moment. */
import { join } from "node:path";
import { writtenParts } from "../src/core/config/written-parts.ts";
import type { DefinitionRecord } from "../src/core/contract/definition-record.ts";
import type { LogEntry, MetricPoint, ProcessRecord } from "../src/core/contract/records.ts";

/** Milliseconds since 1970. */
export const NOW = Date.parse("2026-11-24T14:30:07Z");

const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

const COMMON = { type: "process", blocked: false, restarts: 0 } as const;
const RUNNING = { ...COMMON, status: "running", reason: "runs" } as const;

export const RECORDS: readonly ProcessRecord[] = [
  {
    ...RUNNING,
    id: "web",
    pid: 4_711,
    run: 1,
    started: ago(9_300),
    updated: ago(9_300),
    cpuPercent: 12.4,
    memoryBytes: 48_100_000,
  },
  {
    ...RUNNING,
    id: "worker",
    pid: 5_120,
    run: 4,
    started: ago(240),
    updated: ago(240),
    cpuPercent: 3.1,
    memoryBytes: 41_300_000,
    restarts: 3,
    exited: ago(241),
    code: 1,
  },
  {
    ...COMMON,
    id: "heartbeat",
    status: "finished",
    reason: "finished",
    run: 930,
    started: ago(7),
    exited: ago(7),
    updated: ago(7),
    code: 0,
    nextRun: ago(-3),
  },
  {
    ...COMMON,
    id: "pipeline",
    status: "errored",
    restarts: 3,
    run: 4,
    started: ago(65),
    exited: ago(62),
    updated: ago(62),
    code: 127,
    reason: "exited with code 127; its 3 restarts are used up",
  },
];

const WRITTEN = writtenParts(join(import.meta.dirname, "../examples/quickstart/procman.jsonc")).get("web");

/** Of `web`. */
export const DEFINITION: DefinitionRecord = {
  process: "web",
  argv: ["node", "web.mjs"],
  shell: false,
  cwd: "/srv/quickstart",
  user: "deploy",
  stdout: "/srv/quickstart/logs/web.log",
  stderr: "/srv/quickstart/logs/web.log",
  env: [{ name: "PORT", source: "env", value: "8080" }],
  envFiles: [],
  dependsOn: [],
  start: "with procman",
  restart: "after every end",
  stop: "SIGTERM to the process group, SIGKILL 30 s later",
  ...(WRITTEN && { written: { ...WRITTEN, file: "/srv/quickstart/procman.jsonc" } }),
};

const TEXTS: readonly (readonly [process: string, text: string])[] = [
  ["web", "\u001b[32mGET\u001b[0m /products/17 \u001b[32m200\u001b[0m 4 ms"],
  ["worker", "job 4821 done in 310 ms"],
  ["web", "\u001b[32mGET\u001b[0m /cart \u001b[32m200\u001b[0m 7 ms"],
  ["heartbeat", "it is 14:29:50"],
  ["web", "\u001b[33mPOST\u001b[0m /cart \u001b[33m422\u001b[0m 3 ms"],
  ["worker", '{"level":"info","job":4822,"queue":"mail","attempt":1}'],
  ["web", "\u001b[32mGET\u001b[0m / \u001b[32m200\u001b[0m 1 ms"],
  ["pipeline", "!/bin/sh: 1: uptme: not found"],
];

/** Oldest first. A text with `!` at its beginning is of standard error. */
export function logEntries(count: number, process?: string): readonly LogEntry[] {
  const texts = TEXTS.filter(([id]) => process === undefined || id === process);
  return Array.from({ length: count }, (_, index): LogEntry => {
    const [id, text] = texts[index % texts.length] ?? ["web", ""];
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
  const { cpuPercent, memoryBytes } = RECORDS.find((record) => record.id === id) ?? {};
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

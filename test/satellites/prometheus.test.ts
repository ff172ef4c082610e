/** `GET /metrics`, checked by promtool. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { expose, familiesOf, ServiceGauges } from "../../src/core/metrics/exposition.ts";
import { skip } from "../support/skip.ts";

const state = { name: "shop", status: "running", uptimeSeconds: 3 } as never;
const telemetry = {
  process: "web",
  memory: { rss: 1, heapTotal: 2, heapUsed: 3, external: 4 },
  cwd: "/",
  sent: "2026-06-01T00:00:00.000Z",
  metrics: { "Queue.length": 3, requests_total: 5, größe: 1.5, "jobs done": 1e21 },
};
const process = (id: string, more: object = {}) =>
  ({
    record: { id, type: "process", status: "running", blocked: false, restarts: 0, reason: "runs", ...more },
    states: [{ run: 3 }],
    restarts: 2,
    sample: { memoryBytes: 5, processes: 1, cpuSeconds: 1.25 },
  }) as never;

test("promtool has no objection to the metrics", (context) => {
  const isThere = (globalThis.process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, "promtool")));
  if (!isThere || (globalThis.process.env.PROCMAN_TEST_MISSING ?? "").split(" ").includes("promtool"))
    return skip(context, "promtool is not installed");
  const text = expose(
    familiesOf(
      [
        process("web", {
          telemetry,
          memoryBytes: 5,
          cpuPercent: 3,
          started: "2026-06-01T00:00:00.000Z",
          nextRun: "2026-06-01T00:00:00.000Z",
        }),
        process("api-1", { cluster: "api", code: 3, telemetry }),
      ],
      new ServiceGauges().sample(),
      state,
    ),
  );
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""], text);
  assert.match(text, /^procman_process_state\{process="web",cluster="",state="running"\} 1$/m);
  assert.match(text, /^procman_telemetry_requests_total\{process="web",cluster=""\} 5$/m);
});

test("in metrics labels and help are escaped, numbers have the right format, and metrics without a value are left out", () => {
  const text = expose([
    {
      name: "n",
      type: "gauge",
      help: "a\\b\nc",
      values: [
        [{ l: 'q"\\\n' }, Number.POSITIVE_INFINITY],
        [{}, Number.NaN],
        [{ l: "x" }, undefined],
      ],
    },
    { name: "empty", type: "gauge", help: "", values: [[{}, undefined]] },
  ]);
  assert.equal(text, '# HELP n a\\\\b\\nc\n# TYPE n gauge\nn{l="q\\"\\\\\\n"} +Inf\nn NaN\n');
});

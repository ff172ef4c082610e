import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry, LogItem } from "../../core/contract/records.ts";
import { framed, syslogMessage } from "./logship/syslog.ts";
import { logsRequest, metricsRequest, nanoseconds } from "./otlp/encoding.ts";
import { batches } from "./shared/batches.ts";

const entry = (more: Partial<LogEntry>): LogEntry => ({
  time: "2026-01-01T00:00:00.123Z",
  severity: "info",
  category: "stdout",
  text: "hi",
  ...more,
});
const item = (number: number): LogItem => ({
  type: "entry",
  entry: entry({ text: `line ${number}` }),
  cursor: String(number),
});
const ORIGIN = { facility: "local0", hostname: "host1", name: "shop", maxBytes: 1_000 } as const;
const OTLP = { name: "shop", host: "host1", version: "1.2.3", resource: { env: "test" } };

test("a batch ends at its number of entries or after its time; no entry is in two batches", async () => {
  async function* source(): AsyncGenerator<LogItem> {
    for (let number = 1; number <= 7; number += 1) yield item(number);
    yield { type: "gap", bytes: 5, cursor: "8" };
    await new Promise((resolve) => setTimeout(resolve, 60));
    yield item(9);
  }
  const found: string[] = [];
  for await (const { entries, lostBytes, cursor } of batches(source(), { entries: 3, bytes: 1_000, waitMs: 10 }))
    found.push(`${entries.map(({ text }) => text.slice(5)).join("")} ${lostBytes} ${cursor}`);
  assert.deepEqual(found, ["123 0 3", "456 0 6", "7 5 8", "9 0 9"]);
});

test("RFC 5424: priority, version, time, host, name, message id, structured data, text", () => {
  assert.equal(
    syslogMessage(
      entry({ process: "web-1", run: 2, instance: 1, severity: "error", category: "stderr", text: "ünïcode" }),
      ORIGIN,
    ).toString(),
    '<131>1 2026-01-01T00:00:00.123Z host1 web-1 - stderr [procman@32473 name="shop" process="web-1" run="2" instance="1"] ünïcode',
  );
  const odd = syslogMessage(entry({ severity: "warn", category: "service" }), {
    ...ORIGIN,
    facility: "daemon",
    hostname: "ho st",
    name: 'a"]\\',
  }).toString();
  assert.equal(
    odd,
    '<28>1 2026-01-01T00:00:00.123Z ho_st procman - service [procman@32473 name="a\\"\\]\\\\" process="procman"] hi',
  );
});

test("RFC 6587: each message is preceded by its length in bytes; a too long message is cut between characters", () => {
  const message = syslogMessage(entry({ text: "é".repeat(2_000) }), { ...ORIGIN, maxBytes: 999 });
  assert.ok(message.length <= 999 && message.length >= 998);
  assert.ok(!message.toString().includes("\ufffd"));
  assert.equal(framed([Buffer.from("é"), Buffer.from("abc")]).toString(), "2 é3 abc");
});

test("OTLP in JSON: log records by resource, 64-bit integers as strings, severities as numbers", () => {
  const request = logsRequest(
    [entry({ process: "web", run: 3 }), entry({ severity: "warn", category: "service" }), entry({ process: "web" })],
    OTLP,
    5,
  );
  assert.deepEqual(
    request.resourceLogs.map(({ resource }) => resource.attributes[0]),
    [
      { key: "service.name", value: { stringValue: "web" } },
      { key: "service.name", value: { stringValue: "procman" } },
    ],
  );
  const [web, own] = request.resourceLogs;
  assert.deepEqual(web?.scopeLogs[0]?.scope, { name: "procman", version: "1.2.3" });
  assert.deepEqual(web?.scopeLogs[0]?.logRecords[0], {
    timeUnixNano: "1767225600123000000",
    observedTimeUnixNano: "5000000",
    severityNumber: 9,
    severityText: "INFO",
    body: { stringValue: "hi" },
    attributes: [
      { key: "log.iostream", value: { stringValue: "stdout" } },
      { key: "procman.category", value: { stringValue: "stdout" } },
      { key: "procman.run", value: { intValue: "3" } },
    ],
  });
  assert.equal(web?.scopeLogs[0]?.logRecords.length, 2);
  assert.equal(own?.scopeLogs[0]?.logRecords[0]?.severityNumber, 13);
  assert.equal(nanoseconds(1_767_225_600_123), "1767225600123000000");
});

test("OTLP in JSON: gauges and cumulative sums of each instance, with the program's own metrics", () => {
  const record = {
    id: "web-1",
    cluster: "web",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 2,
    reason: "",
    pid: 7,
  } as const;
  const telemetry = {
    process: "web-1",
    memory: { rss: 0, heapTotal: 0, heapUsed: 0, external: 0 },
    cwd: "/",
    sent: "",
    metrics: { hits_total: 4, load: 0.5 },
  };
  const whole = { ...record, started: new Date(1_000).toISOString(), cpuPercent: 50, memoryBytes: 1_024, telemetry };
  const cluster = { ...record, id: "web", instances: [whole] };
  const { resourceMetrics } = metricsRequest([cluster as never], OTLP, { started: 500, now: 3_000 });
  const [one] = resourceMetrics;
  assert.equal(resourceMetrics.length, 1);
  assert.ok(
    one?.resource.attributes.some(
      ({ key, value }) => key === "process.pid" && "intValue" in value && value.intValue === "7",
    ),
  );
  const byName = new Map(one?.scopeMetrics[0]?.metrics.map((metric) => [metric.name, metric] as const));
  const at = { timeUnixNano: "3000000000" };
  assert.deepEqual(byName.get("process.cpu.utilization"), {
    name: "process.cpu.utilization",
    unit: "1",
    gauge: { dataPoints: [{ ...at, asDouble: 0.5 }] },
  });
  assert.deepEqual(byName.get("process.uptime"), {
    name: "process.uptime",
    unit: "s",
    gauge: { dataPoints: [{ ...at, asDouble: 2 }] },
  });
  assert.deepEqual(byName.get("process.memory.usage"), {
    name: "process.memory.usage",
    unit: "By",
    sum: {
      dataPoints: [{ startTimeUnixNano: "500000000", ...at, asInt: "1024" }],
      aggregationTemporality: 2,
      isMonotonic: false,
    },
  });
  assert.deepEqual(byName.get("hits_total"), {
    name: "hits_total",
    unit: "1",
    // Of its run, not of the service.
    sum: {
      dataPoints: [{ startTimeUnixNano: "1000000000", ...at, asInt: "4" }],
      aggregationTemporality: 2,
      isMonotonic: true,
    },
  });
  assert.ok(byName.has("load") && byName.has("procman.process.up") && byName.has("procman.process.restarts"));
});

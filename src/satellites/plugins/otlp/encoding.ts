/**
 * OTLP in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): 64-bit integers are strings,
 * enumerations numbers, names in lowerCamelCase. Each process is one resource.
 */
import type { LogEntry, ProcessRecord, Severity } from "../../../core/contract/records.ts";
import { isRunning } from "../../../core/contract/status-sets.ts";

type AttributeValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number };

export type Attribute = { readonly key: string; readonly value: AttributeValue };

/** Attributes common to all exports. */
export type TelemetryResource = {
  /** `name` of the configuration. */
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly resource: Readonly<Record<string, string>>;
};

/** By https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const SEVERITY: Readonly<Record<Severity, number>> = { debug: 5, info: 9, warn: 13, error: 17 };
const CUMULATIVE = 2;

export function logsRequest(entries: readonly LogEntry[], origin: TelemetryResource, observed: number) {
  const byProcess = groups(entries);
  return {
    resourceLogs: [...byProcess].map(([process, entries]) => ({
      resource: resourceOf(process, origin),
      scopeLogs: [{ scope: scopeOf(origin), logRecords: entries.map((entry) => logRecord(entry, observed)) }],
    })),
  };
}

/** `started`: of the service, in milliseconds since 1970. */
export function metricsRequest(
  records: readonly ProcessRecord[],
  origin: TelemetryResource,
  { started, now }: { readonly started: number; readonly now: number },
) {
  return {
    resourceMetrics: records
      .flatMap((record) => record.instances ?? [record])
      .map((record) => ({
        resource: resourceOf(record.id, origin, record),
        scopeMetrics: [{ scope: scopeOf(origin), metrics: metricsOf(record, { started, now }) }],
      })),
  };
}

/** As `1544712660300000000`. */
export function nanoseconds(ms: number): string {
  return `${Math.floor(ms)}000000`;
}

function logRecord({ time, severity, category, text, run, instance }: LogEntry, observed: number) {
  return {
    timeUnixNano: nanoseconds(Date.parse(time)),
    observedTimeUnixNano: nanoseconds(observed),
    severityNumber: SEVERITY[severity],
    severityText: severity.toUpperCase(),
    body: { stringValue: text },
    attributes: [
      ...(category === "stdout" || category === "stderr" ? [attribute("log.iostream", category)] : []),
      attribute("procman.category", category),
      ...(run === undefined ? [] : [intAttribute("procman.run", run)]),
      ...(instance === undefined ? [] : [intAttribute("procman.instance", instance)]),
    ],
  };
}

type OtlpPoint = {
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asInt?: string;
  readonly asDouble?: number;
};

type OtlpMetric = {
  readonly name: string;
  readonly unit: string;
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] };
  readonly sum?: {
    readonly dataPoints: readonly OtlpPoint[];
    readonly aggregationTemporality: number;
    readonly isMonotonic: boolean;
  };
};

type NanosecondClock = { readonly started: number; readonly now: number };

function metricsOf(record: ProcessRecord, { started, now }: NanosecondClock): readonly OtlpMetric[] {
  const { cpuPercent, memoryBytes, restarts, started: since } = record;
  const at = { timeUnixNano: nanoseconds(now) };
  const gauge = (name: string, unit: string, value: number | undefined): readonly OtlpMetric[] =>
    value === undefined ? [] : [{ name, unit, gauge: { dataPoints: [{ ...at, asDouble: value }] } }];
  const sum = (name: string, unit: string, value: number | undefined, isMonotonic: boolean): readonly OtlpMetric[] => {
    if (value === undefined) return [];
    // A program counts from its own start.
    const from = isMonotonic && since !== undefined ? Date.parse(since) : started;
    const points = [{ startTimeUnixNano: nanoseconds(from), ...at, ...numberOf(value) }];
    return [{ name, unit, sum: { dataPoints: points, aggregationTemporality: CUMULATIVE, isMonotonic } }];
  };
  return [
    ...gauge("process.cpu.utilization", "1", cpuPercent === undefined ? undefined : cpuPercent / 100),
    ...sum("process.memory.usage", "By", memoryBytes, false),
    ...gauge(
      "process.uptime",
      "s",
      isRunning(record) && since !== undefined ? Math.max(0, now - Date.parse(since)) / 1_000 : undefined,
    ),
    ...gauge("procman.process.up", "1", isRunning(record) ? 1 : 0),
    // A gauge: a long run resets it.
    ...gauge("procman.process.restarts", "{restart}", restarts),
    ...Object.entries(record.telemetry?.metrics ?? {}).flatMap(([name, value]) =>
      name.endsWith("_total") ? sum(name, "1", value, true) : gauge(name, "1", value),
    ),
  ];
}

function numberOf(value: number): { readonly asInt: string } | { readonly asDouble: number } {
  return Number.isSafeInteger(value) ? { asInt: String(value) } : { asDouble: value };
}

function resourceOf(process: string, { name, host, resource }: TelemetryResource, record?: ProcessRecord) {
  return {
    attributes: [
      attribute("service.name", process === "" ? "procman" : process),
      attribute("service.namespace", name),
      attribute("host.name", host),
      ...(record?.cluster === undefined ? [] : [attribute("procman.cluster", record.cluster)]),
      ...(record?.pid === undefined ? [] : [intAttribute("process.pid", record.pid)]),
      ...Object.entries(resource).map(([key, value]) => attribute(key, value)),
    ],
  };
}

function scopeOf({ version }: TelemetryResource) {
  return { name: "procman", version };
}

function attribute(key: string, value: string): Attribute {
  return { key, value: { stringValue: value } };
}

function intAttribute(key: string, value: number): Attribute {
  return { key, value: { intValue: String(value) } };
}

function groups(entries: readonly LogEntry[]): ReadonlyMap<string, readonly LogEntry[]> {
  const found = new Map<string, LogEntry[]>();
  for (const entry of entries) {
    const group = found.get(entry.process ?? "");
    if (group === undefined) found.set(entry.process ?? "", [entry]);
    else group.push(entry);
  }
  return found;
}

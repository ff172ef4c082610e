import type { IntervalHistogram } from "node:perf_hooks";
import { VERSION } from "../base/version.ts";
import {
  type BackendRecord,
  type BalancerRecord,
  type ProcessRecord,
  type ScaleRecord,
  STATUSES,
} from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { isMixed, isRunning } from "../contract/status-sets.ts";
import type { SlotState } from "../supervisor/states.ts";
import type { Sample } from "./sampler.ts";

/** Prometheus' text format, version 0.0.4. */

export type Labels = Readonly<Record<string, string>>;

export type MetricFamily = {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly values: readonly (readonly [Labels, number | undefined])[];
};

/** Families without a value are left out. */
export function expose(families: readonly MetricFamily[]): string {
  return families.map(familyText).join("");
}

/** Converts any name to a part of a metric's name. */
export function metricName(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/[^a-zA-Z\d_]+/g, "_")
    .toLowerCase()
    .slice(0, 100);
}

function familyText({ name, type, help, values }: MetricFamily): string {
  const lines = values.flatMap(([labels, value]) =>
    value === undefined ? [] : [`${name}${labelText(labels)} ${number(value)}\n`],
  );
  if (lines.length === 0) return "";
  return `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function number(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : "-Inf";
}

/** The metrics of a running procman for Prometheus. */

export type ProcessCounters = {
  readonly record: ProcessRecord;
  readonly states: readonly SlotState[];
  /** Restarts by policy since the service was started. */
  readonly restarts: number;
  readonly sample: Sample | undefined;
};

export type GaugeValues = {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly delaySeconds: number;
  readonly longestSeconds: number;
};

/** A single process has each of them but `mixed`. */
const OWN_STATUSES = STATUSES.filter((status) => !isMixed({ status }));
/** Resolution of the event loop delay, measured from the first scrape on. Milliseconds. */
const RESOLUTION_MS = 50;

export function familiesOf(
  processes: readonly ProcessCounters[],
  gauges: GaugeValues,
  state: StateRecord,
): readonly MetricFamily[] {
  return [...processFamilies(processes), ...reportedFamilies(processes), ...serviceFamilies(gauges, state)];
}

/** Metrics of the service itself. */
export class ServiceGauges {
  #delay: IntervalHistogram | undefined;

  /** The delays since the last call. */
  sample(): GaugeValues {
    const delay = this.#delay;
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3;
    const hasSamples = delay !== undefined && delay.count > 0;
    const { user, system } = process.cpuUsage();
    const gauges = {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      delaySeconds: hasSamples ? seconds(delay.percentile(99)) : 0,
      longestSeconds: hasSamples ? seconds(delay.max) : 0,
    };
    if (delay === undefined) {
      // Loaded on first use: `perf_hooks` takes a millisecond of each start.
      this.#delay = process.getBuiltinModule("node:perf_hooks").monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.#delay.enable();
    } else delay.reset();
    return gauges;
  }

  close(): void {
    this.#delay?.disable();
  }
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

type MetricValue = (counted: ProcessCounters) => number | undefined;

function familyOf(
  { name, ...family }: Omit<MetricFamily, "values">,
  processes: readonly ProcessCounters[],
  value: MetricValue,
): MetricFamily {
  return {
    ...family,
    name: `procman_process_${name}`,
    values: processes.map((counted) => [labelsOf(counted.record), value(counted)]),
  };
}

function processFamilies(processes: readonly ProcessCounters[]): readonly MetricFamily[] {
  const family = (name: string, type: MetricFamily["type"], help: string, value: MetricValue): MetricFamily =>
    familyOf({ name, type, help }, processes, value);
  return [
    family("up", "gauge", "1 while the process is running.", ({ record }) => (isRunning(record) ? 1 : 0)),
    family("blocked", "gauge", "1 while the process is blocked.", ({ record }) => (record.blocked ? 1 : 0)),
    {
      name: "procman_process_state",
      type: "gauge",
      help: "1 for the current state of the process, 0 for the others.",
      values: processes.flatMap(({ record }) =>
        OWN_STATUSES.map(
          (status) => [{ ...labelsOf(record), state: status }, record.status === status ? 1 : 0] as const,
        ),
      ),
    },
    family(
      "restarts_total",
      "counter",
      "Restarts by policy since the service was started.",
      ({ restarts }) => restarts,
    ),
    family("runs_total", "counter", "Runs since procman was started.", ({ states }) =>
      states.reduce((sum, { run }) => sum + run, 0),
    ),
    family(
      "cpu_percent",
      "gauge",
      "CPU of the process with its descendants as last sampled; 100 is one core.",
      ({ record }) => record.cpuPercent,
    ),
    family(
      "cpu_seconds_total",
      "counter",
      "Sampled CPU time of the process with its descendants.",
      ({ sample }) => sample?.cpuSeconds,
    ),
    family(
      "memory_bytes",
      "gauge",
      "Resident memory of the process with its descendants, without memory that may be shared.",
      ({ record }) => record.memoryBytes,
    ),
    family("members", "gauge", "Number of processes in its run.", ({ record, sample }) =>
      record.memoryBytes === undefined ? undefined : sample?.processes,
    ),
    family("ready", "gauge", "1 if it is running and ready, 0 if it is running but not ready.", ({ record }) =>
      flag(record.ready),
    ),
    family("healthy", "gauge", "1 if its health checks succeed, 0 if they fail.", ({ record }) => flag(record.healthy)),
    family("run_seconds", "gauge", "Time since the start of its run.", ({ record }) => since(record.started)),
    family("last_exit_code", "gauge", "Exit code of its last run, if it has ended.", ({ record }) => record.code),
    family("next_start_timestamp_seconds", "gauge", "Next start by its schedule.", ({ record }) =>
      timestamp(record.nextRun),
    ),
  ];
}

/** Metrics that running processes report themselves. */
function reportedFamilies(processes: readonly ProcessCounters[]): readonly MetricFamily[] {
  const memory: (readonly [Labels, number])[] = [];
  const own = new Map<string, Map<string, readonly [Labels, number]>>();
  for (const { record } of processes) {
    if (record.telemetry === undefined || !isRunning(record)) continue;
    const labels = labelsOf(record);
    for (const [kind, value] of Object.entries(record.telemetry.memory))
      memory.push([{ ...labels, kind: metricName(kind) }, value]);
    for (const [name, value] of Object.entries(record.telemetry.metrics ?? {})) {
      const values = own.get(metricName(name)) ?? new Map();
      own.set(metricName(name), values);
      // Of names that become the same, the first counts.
      if (!values.has(record.id)) values.set(record.id, [labels, value]);
    }
  }
  return [
    {
      name: "procman_reported_memory_bytes",
      type: "gauge",
      help: "Memory as the process itself reports it.",
      values: memory,
    },
    ...[...own].map(([name, values]) => ({
      name: `procman_telemetry_${name}`,
      type: name.endsWith("_total") ? ("counter" as const) : ("gauge" as const),
      help: "Reported by the process itself.",
      values: [...values.values()],
    })),
  ];
}

function serviceFamilies(
  { memoryBytes, cpuSeconds, delaySeconds, longestSeconds }: GaugeValues,
  state: StateRecord,
): readonly MetricFamily[] {
  const family = (name: string, type: MetricFamily["type"], help: string, value: number): MetricFamily => ({
    name,
    type,
    help,
    values: [[{}, value]],
  });
  return [
    {
      name: "procman_build_info",
      type: "gauge",
      help: "Always 1.",
      values: [[{ version: VERSION, name: state.name }, 1]],
    },
    family("procman_service_uptime_seconds", "gauge", "Uptime of the service.", state.uptimeSeconds),
    family(
      "procman_service_terminating",
      "gauge",
      "1 while everything is being stopped.",
      state.status === "terminating" ? 1 : 0,
    ),
    family("procman_service_memory_bytes", "gauge", "Resident memory of the service.", memoryBytes),
    family("procman_service_cpu_seconds_total", "counter", "CPU time of the service.", cpuSeconds),
    family(
      "procman_service_event_loop_delay_seconds",
      "gauge",
      "99th percentile of the delay of the service's event loop since the last scrape.",
      delaySeconds,
    ),
    family(
      "procman_service_event_loop_delay_max_seconds",
      "gauge",
      "The longest delay of the event loop since the last scrape.",
      longestSeconds,
    ),
  ];
}

function labelsOf({ id, cluster }: ProcessRecord): Labels {
  return { process: id, cluster: cluster ?? "" };
}

function since(started: string | undefined): number | undefined {
  return started === undefined ? undefined : Math.max(0, (Date.now() - Date.parse(started)) / 1_000);
}

function timestamp(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time) / 1_000;
}

/** Metrics of clusters that are scaled by their load. */
export function scaleFamilies(records: readonly ProcessRecord[]): readonly MetricFamily[] {
  const family = (name: string, help: string, value: (scale: ScaleRecord) => number): MetricFamily => ({
    name: `procman_scale_${name}`,
    type: "gauge",
    help,
    values: records.flatMap(({ id, scale }) => (scale === undefined ? [] : [[{ cluster: id }, value(scale)] as const])),
  });
  return [
    family("desired", "Instances that the load of the cluster needs, within its bounds.", ({ desired }) => desired),
    family("min", "Fewest instances now.", ({ min }) => min),
    family("max", "Most instances now.", ({ max }) => max),
    family("pinned", "1 while the number of instances is one that was asked for by hand.", ({ pinned }) =>
      Number(pinned === true),
    ),
    family("refused", "1 while the cluster needs more instances and gets none.", ({ refused }) =>
      refused === undefined ? 0 : 1,
    ),
  ];
}

/** Metrics of the load balancer, its clusters and their instances; counters restart with each balancer. */
export function balancerFamilies(records: readonly ProcessRecord[]): readonly MetricFamily[] {
  // A process that sleeps is its own instance.
  const instances = records.flatMap((record) => record.instances ?? [record]);
  const family = (
    name: string,
    type: MetricFamily["type"],
    help: string,
    value: (backend: BackendRecord) => number,
  ): MetricFamily => ({
    name: `procman_backend_${name}`,
    type,
    help,
    values: instances.flatMap(({ id, cluster = "", backend }) =>
      backend === undefined ? [] : [[{ process: id, cluster }, value(backend)] as const],
    ),
  });
  const front = (
    name: string,
    type: MetricFamily["type"],
    help: string,
    value: (balancer: BalancerRecord) => number,
  ): MetricFamily => ({
    name: `procman_balancer_${name}`,
    type,
    help,
    values: records.flatMap(({ id, balancer }) =>
      balancer === undefined ? [] : [[{ cluster: id }, value(balancer)] as const],
    ),
  });
  const sleep = (
    name: string,
    type: MetricFamily["type"],
    help: string,
    value: (sleep: NonNullable<ProcessRecord["sleep"]>) => number | undefined,
  ): MetricFamily => ({
    name: `procman_sleep_${name}`,
    type,
    help,
    values: records.flatMap(({ id, sleep: known }) =>
      known === undefined ? [] : [[{ process: id }, value(known)] as const],
    ),
  });
  return [
    family("accepting", "gauge", "1 while the instance receives connections.", ({ accepting }) => (accepting ? 1 : 0)),
    family("connections", "gauge", "Open connections through the load balancer.", ({ connections }) => connections),
    family(
      "connections_total",
      "counter",
      "Connections through the load balancer.",
      ({ totalConnections }) => totalConnections,
    ),
    family("received_bytes_total", "counter", "Bytes from clients.", ({ receivedBytes }) => receivedBytes),
    family("sent_bytes_total", "counter", "Bytes to clients.", ({ sentBytes }) => sentBytes),
    family(
      "refused_total",
      "counter",
      "Connections that the instance refused; each client was passed to another one.",
      ({ refused }) => refused,
    ),
    front("listening", "gauge", "1 while the load balancer listens on the common port.", ({ problem }) =>
      problem === undefined ? 1 : 0,
    ),
    front("waiting", "gauge", "Clients waiting for an instance.", ({ waiting }) => waiting),
    sleep("wakes_total", "counter", "Wakes by a client since the service was started.", ({ wakes }) => wakes),
    sleep(
      "last_wake_seconds",
      "gauge",
      "Of the last wake: time from its first client until it got connections.",
      ({ lastWakeMs }) => (lastWakeMs === undefined ? undefined : lastWakeMs / 1_000),
    ),
    front("rejected_total", "counter", "Clients that timed out waiting, or were rejected.", ({ rejected }) => rejected),
  ];
}

/** All numbers of a running procman, by the names that Prometheus gets. */
import type { IntervalHistogram } from "node:perf_hooks";
import { VERSION } from "../base/version.ts";
import type { ProcessRecord, Status } from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { Instance } from "../supervisor/states.ts";
import { type Family, type Labels, metricName } from "../telemetry/prometheus.ts";
import type { Sample } from "../telemetry/sampler.ts";

export type Counted = {
  readonly record: ProcessRecord;
  readonly states: readonly Instance[];
  /** By policy, since the service was started. */
  readonly restarts: number;
  readonly sample: Sample | undefined;
};

export type Gauges = {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly delaySeconds: number;
  readonly longestSeconds: number;
};

const STATUSES: readonly Status[] = [
  "created",
  "waiting",
  "starting",
  "running",
  "stopping",
  "backoff",
  "stopped",
  "finished",
  "errored",
  "exhausted",
];
/** How finely the delay of the loop is measured, once somebody asks for it. Milliseconds. */
const RESOLUTION_MS = 50;

export function familiesOf(processes: readonly Counted[], gauges: Gauges, state: StateRecord): readonly Family[] {
  return [...processFamilies(processes), ...reportedFamilies(processes), ...serviceFamilies(gauges, state)];
}

/** Of the service itself. */
export class ServiceGauges {
  #delay: IntervalHistogram | undefined;

  /** The delays since the last look. */
  look(): Gauges {
    const delay = this.#delay;
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3;
    const known = delay !== undefined && delay.count > 0;
    const { user, system } = process.cpuUsage();
    const gauges = {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      delaySeconds: known ? seconds(delay.percentile(99)) : 0,
      longestSeconds: known ? seconds(delay.max) : 0,
    };
    if (delay === undefined) {
      // Not before somebody asks: its part of Node takes a millisecond of each start.
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

type Value = (counted: Counted) => number | undefined;

function familyOf({ name, ...family }: Omit<Family, "values">, processes: readonly Counted[], value: Value): Family {
  return { ...family, name: `procman_process_${name}`, values: processes.map((counted) => [labelsOf(counted.record), value(counted)]) };
}

function processFamilies(processes: readonly Counted[]): readonly Family[] {
  const family = (name: string, type: Family["type"], help: string, value: Value): Family =>
    familyOf({ name, type, help }, processes, value);
  return [
    family("up", "gauge", "1 while the process runs.", ({ record }) => (record.status === "running" ? 1 : 0)),
    family("blocked", "gauge", "1 while the process is blocked.", ({ record }) => (record.blocked ? 1 : 0)),
    {
      name: "procman_process_state",
      type: "gauge",
      help: "1 for the state that the process is in, 0 for all others.",
      values: processes.flatMap(({ record }) =>
        STATUSES.map((status) => [{ ...labelsOf(record), state: status }, record.status === status ? 1 : 0] as const),
      ),
    },
    family("restarts_total", "counter", "Restarts by policy since the service was started.", ({ restarts }) => restarts),
    family("runs_total", "counter", "Runs since procman was started.", ({ states }) => states.reduce((sum, { run }) => sum + run, 0)),
    family(
      "cpu_percent",
      "gauge",
      "CPU of the process with its descendants as last seen; 100 is one core.",
      ({ record }) => record.cpuPercent,
    ),
    family(
      "cpu_seconds_total",
      "counter",
      "CPU time of the process with its descendants that was seen.",
      ({ sample }) => sample?.cpuSeconds,
    ),
    family(
      "memory_bytes",
      "gauge",
      "Resident memory of the process with its descendants, without what they may share.",
      ({ record }) => record.memoryBytes,
    ),
    family("members", "gauge", "Number of processes that its run consists of.", ({ sample }) => sample?.processes),
    family("ready", "gauge", "1: it runs and is ready; 0: it runs and is not.", ({ record }) => flag(record.ready)),
    family("healthy", "gauge", "1: its health checks say yes; 0: they say no.", ({ record }) => flag(record.healthy)),
    family("run_seconds", "gauge", "How long it runs already.", ({ record }) => since(record.started)),
    family("last_exit_code", "gauge", "Exit code of its last run, when it is over.", ({ record }) => record.code),
    family("next_start_timestamp_seconds", "gauge", "When it is started next by its schedule.", ({ record }) => timestamp(record.nextRun)),
  ];
}

/** What processes that run say of themselves. */
function reportedFamilies(processes: readonly Counted[]): readonly Family[] {
  const memory: (readonly [Labels, number])[] = [];
  const own = new Map<string, Map<string, readonly [Labels, number]>>();
  for (const { record } of processes) {
    if (record.telemetry === undefined || record.status !== "running") continue;
    const labels = labelsOf(record);
    for (const [kind, value] of Object.entries(record.telemetry.memory)) memory.push([{ ...labels, kind: metricName(kind) }, value]);
    for (const [name, value] of Object.entries(record.telemetry.metrics ?? {})) {
      const values = own.get(metricName(name)) ?? new Map();
      own.set(metricName(name), values);
      // Names that become the same: the first counts.
      if (!values.has(record.id)) values.set(record.id, [labels, value]);
    }
  }
  return [
    { name: "procman_reported_memory_bytes", type: "gauge", help: "Memory as the process itself reports it.", values: memory },
    ...[...own].map(([name, values]) => ({
      name: `procman_telemetry_${name}`,
      type: name.endsWith("_total") ? ("counter" as const) : ("gauge" as const),
      help: "Reported by the process itself.",
      values: [...values.values()],
    })),
  ];
}

function serviceFamilies({ memoryBytes, cpuSeconds, delaySeconds, longestSeconds }: Gauges, state: StateRecord): readonly Family[] {
  const family = (name: string, type: Family["type"], help: string, value: number): Family => ({ name, type, help, values: [[{}, value]] });
  return [
    { name: "procman_build_info", type: "gauge", help: "Always 1.", values: [[{ version: VERSION, name: state.name }, 1]] },
    family("procman_service_uptime_seconds", "gauge", "How long the service runs.", state.uptimeSeconds),
    family("procman_service_terminating", "gauge", "1 while everything is being stopped.", state.status === "terminating" ? 1 : 0),
    family("procman_service_memory_bytes", "gauge", "Resident memory of the service.", memoryBytes),
    family("procman_service_cpu_seconds_total", "counter", "CPU time of the service.", cpuSeconds),
    family(
      "procman_service_event_loop_delay_seconds",
      "gauge",
      "99 of 100 turns of the service's event loop began no later than this, since the last look.",
      delaySeconds,
    ),
    family(
      "procman_service_event_loop_delay_max_seconds",
      "gauge",
      "The longest delay of the event loop since the last look.",
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

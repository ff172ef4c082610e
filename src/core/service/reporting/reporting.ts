/** Puts reporting together: log lines, events, records, metrics and incidents are listeners on one bus. They decide nothing. */
import type { RunMarkers } from "../../base/run-marker.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { LogLine } from "../log-line.ts";
import { ProcessBus } from "../process-bus.ts";
import type { NoteStore } from "../recovery/notes.ts";
import { type ReadLastLines, ServiceIncidents } from "./incidents.ts";
import { runOf } from "./lifecycle-messages.ts";
import { ProcessStatsCache } from "./process-stats-cache.ts";
import { RecordCache } from "./record-cache.ts";
import { ServiceEvents } from "./service-events.ts";
import { ServiceMetrics } from "./service-metrics.ts";
import { reportSkips } from "./skip-report.ts";

export type ReportingPorts = {
  readonly config: () => Config;
  readonly markers: RunMarkers;
  readonly supervisor: () => Supervisor;
  /** Specification of a process or of one of its slots. */
  readonly spec: (slot: string) => ProcessSpec;
  readonly notes: NoteStore;
  readonly log: { readonly write: (slot: string, line: LogLine, run?: number) => void };
  /** Why the log files of the process can't be written now. */
  readonly logProblemOf: (spec: ProcessSpec) => string | undefined;
  /** The option of `procman run` because of which the process isn't restarted. */
  readonly noRestartBy?: (spec: ProcessSpec) => string | undefined;
  readonly report: (problem: string) => void;
  readonly lastLines: ReadLastLines;
  /** Adds the data of the load balancer. */
  readonly withBalancer: (record: ProcessRecord) => ProcessRecord;
  /** Whether it has a memory limit. */
  readonly isLimited: (spec: ProcessSpec) => boolean;
  readonly status: () => StateRecord;
};

export type Reporting = ReturnType<typeof newReporting>;

export function newReporting(ports: ReportingPorts) {
  const { config, log, report } = ports;
  const { stateDir } = config();
  const bus = new ProcessBus(report);
  bus.transitions.listen(({ transition, line }) => {
    if (line !== undefined) log.write(transition.slot, line, runOf(transition));
  });
  bus.events.listen(({ id, line }) => log.write(id, line));
  const shared = { ...ports, bus, stateDir };
  const metrics = new ServiceMetrics({
    ...shared,
    hours: () => config().internalLogHours,
    specs: () => config().processes,
  });
  const { noRestartBy = () => undefined } = ports;
  const stats = new ProcessStatsCache({ ...shared, noRestartBy, sampleOf: (id) => metrics.sampleOf(id) });
  const records = new RecordCache({ ...shared, observe: (id) => stats.of(id) });
  const incidents = new ServiceIncidents({
    ...shared,
    configured: () => new Set(config().processes.map(({ id }) => id)),
    messageContext: (id) => stats.messageContext(id),
    recentMetrics: (id) => metrics.recent(id),
    onWritten: (incident) => events.onIncident(incident),
  });
  const events = new ServiceEvents({ ...shared, records, stats });
  reportSkips({
    ...shared,
    stats,
    write: (id, line) => log.write(id, line),
    publishState: (id, text) => events.publishState(id, text),
  });
  return { bus, metrics, stats, records, incidents, events } as const;
}

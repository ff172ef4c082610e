/** Puts reporting together: log lines, events, records, metrics and incidents are listeners on one bus. They decide nothing. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import type { Services } from "../services.ts";
import { type FindTakenPort, type ReadLastLines, ServiceIncidents } from "./incidents.ts";
import { LifecycleLines } from "./lifecycle-lines.ts";
import { ProcessStatsCache } from "./process-stats-cache.ts";
import { RecordCache } from "./record-cache.ts";
import { ServiceEvents } from "./service-events.ts";
import { ServiceMetrics } from "./service-metrics.ts";
import { reportSkips } from "./skip-report.ts";

/** What is reported of other parts. */
export type ReportedParts = {
  /** The option of `procman run` because of which the process isn't restarted. */
  readonly noRestartBy: (spec: ProcessSpec) => string | undefined;
  readonly lastLines: ReadLastLines;
  readonly takenPort: FindTakenPort;
  /** Adds the data of the load balancer. */
  readonly withBalancer: (record: ProcessRecord) => ProcessRecord;
  readonly status: () => StateRecord;
};

export type Reporting = ReturnType<typeof newReporting>;

export function newReporting(
  services: Services,
  { noRestartBy, lastLines, takenPort, withBalancer, status }: ReportedParts,
) {
  const { bus, log } = services;
  const lines = new LifecycleLines(log);
  bus.transitions.listen((reported) => lines.onTransition(reported));
  bus.events.listen(({ id, line }) => log.write(id, line));
  const metrics = new ServiceMetrics(services);
  const stats = new ProcessStatsCache(services, metrics, noRestartBy);
  const records = new RecordCache(services, stats, withBalancer);
  const incidents = new ServiceIncidents(services, {
    stats,
    metrics,
    lastLines,
    takenPort,
    onWritten: (incident) => events.onIncident(incident),
  });
  const events = new ServiceEvents(services, records, stats, status);
  reportSkips(services, stats, events);
  return { metrics, stats, records, incidents, events } as const;
}

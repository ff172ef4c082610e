/** Publishes what happens as events, for API, library and plugins. */
import { ProcmanError } from "../../base/errors.ts";
import type { Caller } from "../../contract/control.ts";
import type { EventRecord } from "../../contract/event-record.ts";
import type { HistoryEntry } from "../../contract/history-record.ts";
import type { PluginRecord } from "../../contract/plugin-record.ts";
import type { TelemetryReport } from "../../contract/records.ts";
import type { RolloutRecord } from "../../contract/rollout-record.ts";
import type { Incident } from "../../contract/run-summary.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { metricName } from "../../metrics/exposition.ts";
import type { ReportedEvent } from "../process-bus.ts";
import type { Services } from "../services.ts";
import { EventLog } from "./event-log.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";
import type { RecordCache } from "./record-cache.ts";

/** Metrics that one process may report. */
const MAX_METRICS = 50;

export class ServiceEvents {
  readonly #services: Pick<Services, "bus" | "log" | "supervisor">;
  readonly #records: RecordCache;
  readonly #stats: ProcessStatsCache;
  readonly #status: () => StateRecord;
  readonly #log: EventLog;
  /** Processes that report metrics whose exported names are the same. */
  readonly #withSameNames = new Set<string>();

  constructor(
    services: Pick<Services, "bus" | "log" | "supervisor">,
    records: RecordCache,
    stats: ProcessStatsCache,
    status: () => StateRecord,
  ) {
    const { bus, log } = services;
    this.#services = services;
    this.#records = records;
    this.#stats = stats;
    this.#status = status;
    this.#log = new EventLog((problem) => log.warn(problem));
    bus.transitions.listen(({ id, line }) => this.publishState(id, line?.text));
    bus.events.listen((reported) => this.#onProcessEvent(reported));
    bus.removed.listen((id) => this.#withSameNames.delete(id));
  }

  /** Publishes the record of a process; `text` says what has changed. */
  publishState(id: string, text: string | undefined): void {
    this.#log.publish({
      type: "process.state",
      process: this.#records.of({ id }),
      ...(text === undefined ? {} : { text }),
    });
  }

  /** The load of a cluster, or a schedule, has asked for another number of instances; `from` and `to` are the same if it was refused. */
  publishScaled(process: string, change: { readonly from: number; readonly to: number; readonly text: string }): void {
    this.#log.publish({ type: "process.scaled", process, ...change });
  }

  publishServiceState(): void {
    this.#log.publish({ type: "service.state", state: this.#status() });
  }

  onPlugin(plugin: PluginRecord): void {
    this.#log.publish({ type: "plugin.state", plugin });
  }

  onApplied(entry: HistoryEntry): void {
    this.#log.publish({ type: "configuration.applied", entry });
  }

  onRollout(rollout: RolloutRecord): void {
    this.#log.publish({ type: "rollout.phase", rollout });
  }

  onIncident(incident: Incident): void {
    this.#log.publish({ type: "process.incident", incident });
  }

  /** Takes the telemetry of a process. @throws {ProcmanError} `process-foreign`, `process-unknown` */
  async telemetry(report: TelemetryReport, caller: Caller): Promise<void> {
    const { process: id } = report;
    if (caller.process !== undefined && caller.process !== id)
      throw new ProcmanError(
        "process-foreign",
        `Cannot take telemetry of "${id}": the token is that of "${caller.process}"`,
      );
    this.#services.supervisor.find(id);
    const kept = withBoundedMetrics(report);
    this.#stats.setReport(id, kept);
    this.#services.bus.reports.publish(kept);
    this.#checkNames(kept);
    this.#log.publish({ type: "process.telemetry", report: kept });
  }

  /** Once for each process: two of its metrics have one name in Prometheus' format. */
  #checkNames({ process, metrics = {} }: TelemetryReport): void {
    if (this.#withSameNames.has(process)) return;
    const exported = new Map<string, string>();
    for (const name of Object.keys(metrics)) {
      const same = metricName(name);
      const first = exported.get(same);
      exported.set(same, first ?? name);
      if (first === undefined) continue;
      this.#withSameNames.add(process);
      const one = JSON.stringify(first);
      const other = JSON.stringify(name);
      return this.#services.log.warn(
        `"${process}" reports ${one} and ${other}: both are procman_telemetry_${same} for Prometheus, which gets only the first; rename one`,
      );
    }
  }

  /** Each event as it happens. Returns the function that removes the listener. */
  listen(listener: (event: EventRecord) => void): () => void {
    return this.#log.listen(listener);
  }

  /** Events after the one with this id. */
  follow(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    return this.#log.follow(after, signal, this.#status);
  }

  #onProcessEvent({ id, event, line: { text } }: ReportedEvent): void {
    switch (event.type) {
      case "scheduled":
      case "skipped":
      case "missed":
      case "terminated":
        return this.#log.publish({ type: "process.scheduled", process: id, text });
      case "watch":
        return this.#log.publish({ type: "process.watch", process: id, file: event.files[0] ?? "" });
      default:
        return this.publishState(id, text);
    }
  }
}

function withBoundedMetrics(report: TelemetryReport): TelemetryReport {
  return report.metrics === undefined ? report : { ...report, metrics: bounded(report.metrics) };
}

function bounded(metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(finite.slice(0, MAX_METRICS));
}

/** Fakes of log and reporting for `Control`, in memory: reads return what was added, requests are recorded. */
import type { Caller } from "../../src/core/contract/control.ts";
import type { EventRecord } from "../../src/core/contract/event-record.ts";
import type {
  FlushRecord,
  LogEntry,
  LogItem,
  LogPage,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  TelemetryReport,
} from "../../src/core/contract/records.ts";
import { endedRun } from "../../src/core/contract/run-history.ts";
import type { RunIncident, RunSummary } from "../../src/core/contract/run-summary.ts";
import type { ScopedQuery } from "../../src/core/log-store/filter.ts";
import type { LogAccess } from "../../src/core/service/control-ports.ts";
import type { FlushRequest } from "../../src/core/service/log-flushes.ts";
import type { ProcessObservation } from "../../src/core/service/reporting/process-records.ts";

export const TIME = "2026-01-01T00:00:00.000Z";

/** A list with followers, which get each new item. */
class Feed<T> {
  readonly items: T[] = [];
  readonly #listeners = new Set<() => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  push(item: T): void {
    this.items.push(item);
    for (const call of [...this.#listeners]) call();
  }

  async *from(start: number, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
    for (let index = start; !signal.aborted; ) {
      const item = this.items[index];
      if (item === undefined) await this.#more(signal);
      else {
        index++;
        yield item;
      }
    }
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#listeners.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#listeners.add(done);
      signal.addEventListener("abort", done);
    });
  }
}

/** By the view and the groups of the query; its other members are not applied. */
function isSeen({ process = "", instance = 0 }: LogEntry, { view, isNamed }: ScopedQuery): boolean {
  return view?.allows(process, instance) !== false && isNamed?.(process) !== false;
}

export class FakeLogAccess implements LogAccess {
  readonly feed = new Feed<LogEntry>();
  readonly queries: ScopedQuery[] = [];
  readonly callers: Caller[] = [];
  readonly flushes: string[] = [];

  async logs(query: ScopedQuery): Promise<LogPage> {
    this.queries.push(query);
    const start = Number(query.cursor ?? 0);
    const end = start + (query.limit ?? 100);
    const seen = this.feed.items.filter((entry) => isSeen(entry, query));
    const entries = seen.slice(start, end);
    return end < seen.length ? { entries, next: String(end) } : { entries };
  }

  async *follow(query: ScopedQuery, signal: AbortSignal): AsyncGenerator<LogItem, void, undefined> {
    this.queries.push(query);
    let cursor = Number(query.cursor ?? 0);
    for await (const entry of this.feed.from(cursor, signal)) {
      cursor += 1;
      if (isSeen(entry, query)) yield { type: "entry", entry, cursor: String(cursor) };
    }
  }

  async flush({ processes, store }: FlushRequest): Promise<FlushRecord> {
    this.flushes.push(`${processes.join()}${store ? " and the store" : ""}`);
    return { processes, store, files: [], kept: [] };
  }

  async log({ text, severity = "info", process }: LogSubmission, caller: Caller): Promise<LogEntry> {
    this.callers.push(caller);
    const entry: LogEntry = {
      time: TIME,
      severity,
      category: "log",
      text,
      ...(process === undefined ? {} : { process }),
    };
    this.feed.push(entry);
    return entry;
  }
}

const NO_OBSERVATION: ProcessObservation = { usage: {}, sampled: [], reported: {} };

/** Events, metrics and incidents. */
export class FakeReporting {
  readonly feed = new Feed<EventRecord>();
  readonly reports: TelemetryReport[] = [];
  readonly queries: MetricQuery[] = [];
  readonly requests: string[] = [];
  readonly points: readonly MetricPoint[] = [{ time: TIME, cpuPercent: 12.5, memoryBytes: 4_096, processes: 2 }];
  bug: Error | undefined;

  async telemetry(report: TelemetryReport): Promise<void> {
    this.reports.push(report);
  }

  watch(): void {
    // There are no fresh samples.
  }

  seen(): ProcessObservation {
    return NO_OBSERVATION;
  }

  recordRequester(id: string, { consumer }: Caller): void {
    this.requests.push(`${id} by ${consumer}`);
  }

  lastEnd(): undefined {
    return undefined;
  }

  async read(_ids: readonly string[], query: MetricQuery): Promise<readonly MetricPoint[]> {
    this.queries.push(query);
    return this.points;
  }

  async of([id = ""]: readonly string[], limit = 2): Promise<readonly RunIncident[]> {
    const incident: RunIncident = {
      time: TIME,
      process: id,
      run: 1,
      cause: "exit",
      reason: "exited with code 3",
      code: 3,
      decision: "none",
      lines: [],
      metrics: [],
    };
    return Array.from({ length: limit }, () => incident);
  }

  async ended(ids: readonly string[]): Promise<readonly RunSummary[]> {
    return (await this.of(ids)).map((incident, index) => endedRun({ ...incident, run: index + 1 }));
  }

  prometheus(_records: unknown, _state: unknown, shown: readonly { readonly id: string }[]): string {
    if (this.bug !== undefined) throw this.bug;
    return `procman_up ${shown.map(({ id }) => id).join()}\n`;
  }

  follow(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    return this.feed.from(after === undefined ? this.feed.items.length : Number(after), signal);
  }

  /** Adds an event. */
  addEvent(): void {
    this.feed.push({
      id: String(this.feed.items.length + 1),
      time: TIME,
      type: "process.scheduled",
      process: "web",
      text: "starts",
    });
  }
}

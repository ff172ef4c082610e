/** `Control` in process: what the API and the library's users call. */
import { ProcmanError } from "../base/errors.ts";
import type { ProcessSpec } from "../config/spec.ts";
import { didYouMean } from "../config/suggest.ts";
import type { Action, Caller, Control } from "../contract/control.ts";
import type {
  EventRecord,
  Incident,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  StateRecord,
  TelemetryReport,
} from "../contract/records.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { clusterOf, recordOf, type Seen, stateOf, type Whole, withClusters } from "./records.ts";

/** The stored log. */
export type LogBook = Pick<Control, "logs" | "follow"> & {
  readonly log: (submission: LogSubmission, caller: Caller) => Promise<LogEntry>;
};

/** What is seen of processes: numbers, events, ends. */
export type Observatory = Pick<Control, "prometheus" | "events"> & {
  readonly telemetry: (report: TelemetryReport, caller: Caller) => Promise<void>;
  /** Of one process, or of several together. */
  readonly metrics: (ids: readonly string[], query: MetricQuery) => Promise<readonly MetricPoint[]>;
  readonly incidents: (ids: readonly string[], limit?: number) => Promise<readonly Incident[]>;
  /** Somebody looks: numbers are fresher for a while. */
  readonly watch: () => void;
  /** Asked for each record: it may only look something up. */
  readonly seen: (id: string) => Seen;
  /** The end of its run that comes next is by this caller's wish. */
  readonly asked: (id: string, caller: Caller) => void;
};

/** What is controlled. */
export type Controlled = Whole & {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  readonly terminate: (why: string) => Promise<void>;
  /** Resolves once the keeper has all that was decided. */
  readonly commit: () => Promise<void>;
  readonly logBook: LogBook;
  readonly observatory: Observatory;
};

export class ServiceControl implements Control {
  readonly #service: Controlled;
  readonly #caller: Caller;

  constructor(service: Controlled, caller: Caller) {
    this.#service = service;
    this.#caller = caller;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    this.#service.observatory.watch();
    return withClusters(this.#service.supervisor.processes.map((process) => this.#record(process)));
  }

  async process(id: string): Promise<ProcessRecord> {
    this.#service.observatory.watch();
    const found = this.#find(id);
    const [only] = found;
    return found.length === 1 && only?.id === id
      ? this.#record(only)
      : clusterOf(
          id,
          found.map((process) => this.#record(process)),
        );
  }

  async state(): Promise<StateRecord> {
    return stateOf(this.#service);
  }

  async act(id: string, action: Action): Promise<ProcessRecord> {
    for (const process of this.#find(id)) {
      process[action]();
      // Who has asked for the end that is to come; one that was refused has not.
      if (action === "stop" || action === "restart") this.#service.observatory.asked(process.id, this.#caller);
    }
    const record = this.process(id);
    // Before the answer: what was accepted is carried out, whoever is killed right after.
    await this.#service.commit();
    return record;
  }

  async terminate(): Promise<void> {
    void this.#service.terminate(`asked by ${this.#caller.consumer}`);
    await this.#service.commit();
  }

  logs(query: LogQuery): Promise<LogPage> {
    return this.#service.logBook.logs(query);
  }

  follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    return this.#service.logBook.follow(query, signal);
  }

  log(submission: LogSubmission): Promise<LogEntry> {
    return this.#service.logBook.log(submission, this.#caller);
  }

  telemetry(report: TelemetryReport): Promise<void> {
    return this.#service.observatory.telemetry(report, this.#caller);
  }

  async metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]> {
    const ids = this.#find(id).map((process) => process.id);
    return this.#service.observatory.metrics(ids, query);
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    const ids = this.#find(id).map((process) => process.id);
    return this.#service.observatory.incidents(ids, limit);
  }

  prometheus(): Promise<string> {
    return this.#service.observatory.prometheus();
  }

  events(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    return this.#service.observatory.events(after, signal);
  }

  /** A process, an instance, a cluster, or `all`. */
  #find(id: string): readonly Process[] {
    const { processes } = this.#service.supervisor;
    const found = processes.filter((process) => id === "all" || process.id === id || this.#spec(process).cluster?.id === id);
    if (found.length > 0) return found;
    throw new ProcmanError(
      "process-unknown",
      `Cannot find process "${id}": there is none of this id.${didYouMean(
        id,
        processes.map((process) => process.id),
      )}`,
    );
  }

  #record(process: Process): ProcessRecord {
    return recordOf(process, this.#spec(process), this.#service.observatory.seen(process.id));
  }

  #spec({ id }: Process): ProcessSpec {
    return this.#service.spec(id);
  }
}

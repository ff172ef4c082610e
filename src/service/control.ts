/** `Control` in process: what the API and the library's users call. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import { VERSION } from "../base/version.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { Action, ActOptions, Caller, Control } from "../contract/control.ts";
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
  Status,
  TelemetryReport,
} from "../contract/records.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { info, type Line, warn } from "./narrator.ts";
import { Overview } from "./overview.ts";
import { clusterOf, recordOf, withClusters } from "./records.ts";
import { reached } from "./target.ts";

/** The stored log. */
export type LogBook = Pick<Control, "logs" | "follow"> & {
  readonly log: (submission: LogSubmission, caller: Caller) => Promise<LogEntry>;
};

/** What is seen of processes: numbers, events, ends. */
export type Observatory = Pick<Control, "metrics" | "incidents" | "prometheus" | "events"> & {
  readonly telemetry: (report: TelemetryReport, caller: Caller) => Promise<void>;
};

/** What is controlled. */
export type Controlled = {
  readonly config: Config;
  readonly supervisor: Supervisor;
  readonly isTerminating: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Pid of the keeper. */
  readonly keeper: number;
  readonly spec: (id: string) => ProcessSpec;
  readonly terminate: (why: string) => Promise<void>;
  readonly logBook: LogBook;
  readonly observatory: Observatory;
};

/** Hears what was asked for by whom, and what came of it. */
type Auditor = { readonly audit: (line: Line, id?: string) => void };

/** `Control` for each who asks. */
export function controlsOf(service: Controlled, auditor: Auditor): (caller: Caller) => Control {
  const overview = new Overview(service.supervisor, () =>
    withClusters(service.supervisor.processes.map((process) => recordOf(process, service.spec(process.id)))),
  );
  return (caller) => new ServiceControl({ service, overview, auditor }, caller);
}

type Shared = { readonly service: Controlled; readonly overview: Overview; readonly auditor: Auditor };

class ServiceControl implements Control {
  readonly #service: Controlled;
  readonly #overview: Overview;
  readonly #auditor: Auditor;
  readonly #caller: Caller;

  constructor({ service, overview, auditor }: Shared, caller: Caller) {
    this.#service = service;
    this.#overview = overview;
    this.#auditor = auditor;
    this.#caller = caller;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    return this.#overview.records;
  }

  async process(id: string): Promise<ProcessRecord> {
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
    const { config, isTerminating, startedAt, keeper } = this.#service;
    const total = this.#service.supervisor.processes.length;
    const counts: Partial<Record<Status, number>> = {};
    for (const process of this.#service.supervisor.processes) {
      const { status } = this.#record(process);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return {
      name: config.name,
      version: VERSION,
      pid: keeper,
      status: isTerminating ? "terminating" : "running",
      started: new Date(startedAt).toISOString(),
      uptimeSeconds: Math.round((Date.now() - startedAt) / 1_000),
      configFile: config.file,
      processes: { total, ...counts },
    };
  }

  async act(id: string, action: Action, options: ActOptions = {}): Promise<ProcessRecord> {
    const { supervisor } = this.#service;
    const { consumer } = this.#caller;
    const subject = id === "all" ? undefined : id;
    let processes: readonly Process[];
    try {
      processes = command(this.#find(id), id, action);
    } catch (error) {
      if (error instanceof ProcmanError) this.#auditor.audit(warn(`${action} of "${id}" for "${consumer}": refused: ${error.message}`));
      throw error;
    } finally {
      this.#overview.forget();
    }
    this.#auditor.audit(info(`${action}${subject === undefined ? " of all" : ""} for "${consumer}"`), subject);
    await reached(supervisor, { action, processes, reason: (process) => this.#record(process).reason }, options);
    return this.process(id);
  }

  async terminate(): Promise<void> {
    this.#auditor.audit(info(`terminate for "${this.#caller.consumer}"`));
    void this.#service.terminate(`asked by ${this.#caller.consumer}`);
  }

  logs(query: LogQuery): Promise<LogPage> {
    return this.#service.logBook.logs(query);
  }

  follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    return this.#service.logBook.follow(query, signal);
  }

  async log(submission: LogSubmission): Promise<LogEntry> {
    const { process = this.#caller.process } = submission;
    if (process !== undefined) this.#checkSpeaker(process);
    return this.#service.logBook.log({ ...submission, ...(process === undefined ? {} : { process }) }, this.#caller);
  }

  async telemetry(report: TelemetryReport): Promise<void> {
    this.#checkSpeaker(report.process);
    return this.#service.observatory.telemetry(report, this.#caller);
  }

  async metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]> {
    this.#find(id);
    return this.#service.observatory.metrics(id, query);
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    this.#find(id);
    return this.#service.observatory.incidents(id, limit);
  }

  prometheus(): Promise<string> {
    return this.#service.observatory.prometheus();
  }

  events(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    return this.#service.observatory.events(after, signal);
  }

  /** Who speaks for a process is there, and a process speaks for itself alone. */
  #checkSpeaker(process: string): void {
    const { consumer, process: own = process } = this.#caller;
    if (own !== process)
      throw new ProcmanError("process-foreign", `Cannot speak for "${process}": the token of "${consumer}" is good for "${own}" alone`);
    this.#find(process);
  }

  /** A process, an instance, a cluster, or `all`. */
  #find(id: string): readonly Process[] {
    const { processes } = this.#service.supervisor;
    const found = processes.filter((process) => id === "all" || process.id === id || this.#spec(process).cluster?.id === id);
    if (found.length > 0) return found;
    throw new ProcmanError(
      "process-unknown",
      `Cannot find process ${shown(id)}: there is none of this id.${didYouMean(
        id,
        processes.map((process) => process.id),
      )}`,
    );
  }

  #record(process: Process): ProcessRecord {
    return recordOf(process, this.#spec(process));
  }

  #spec({ id }: Process): ProcessSpec {
    return this.#service.spec(id);
  }
}

/** To all of them; of several, those that are so already, or are blocked, are left as they are. Returns those that follow it. */
function command(processes: readonly Process[], id: string, action: Action): readonly Process[] {
  if (processes.length === 1 && processes[0]?.id === id) {
    processes[0][action]();
    return processes;
  }
  const refusals = new Map<Process, ProcmanError>();
  for (const process of action === "stop" ? processes.toReversed() : processes) {
    try {
      process[action]();
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      if (error.code !== "process-running") refusals.set(process, error);
    }
  }
  const [refusal] = refusals.values();
  if (refusal !== undefined && refusals.size === processes.length) throw refusal;
  return processes.filter((process) => !refusals.has(process));
}

function shown(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}

/** `Control` in process: what the API and the library's users call. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { Action, ActOptions, Caller, Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PlanRecord } from "../contract/plan.ts";
import type {
  Incident,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  TelemetryReport,
} from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { Process } from "../supervisor/process.ts";
import type { Controlled } from "./controlled.ts";
import { info, type Line, warn } from "./narrator.ts";
import { Overview } from "./overview.ts";
import { clusterOf, recordOf, withClusters } from "./records.ts";
import { stateOf } from "./state-record.ts";
import { reached, rolled } from "./target.ts";

/** Hears what was asked for by whom, and what came of it. */
type Auditor = { readonly audit: (line: Line, id?: string) => void };

/** `Control` for each who asks. */
export function controlsOf(service: Controlled, auditor: Auditor): (caller: Caller) => Control {
  const overview = new Overview(service.supervisor, () =>
    withClusters(service.supervisor.processes.map((process) => recordIn(service, process))).map((record) =>
      service.balancing.shown(record),
    ),
  );
  return (caller) => new ServiceControl({ service, overview, auditor }, caller);
}

type Commanded = { readonly processes: readonly Process[]; readonly rolls: readonly Promise<string | undefined>[] };

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
    this.#service.observatory.watch();
    return this.#overview.records;
  }

  async process(id: string): Promise<ProcessRecord> {
    this.#service.observatory.watch();
    const found = this.#find(id);
    const [only] = found;
    return found.length === 1 && only?.id === id
      ? this.#record(only)
      : this.#service.balancing.shown(
          clusterOf(
            id,
            found.map((process) => this.#record(process)),
          ),
        );
  }

  async state(): Promise<StateRecord> {
    return stateOf(this.#service);
  }

  async act(id: string, action: Action, options: ActOptions = {}): Promise<ProcessRecord> {
    const { supervisor, commit } = this.#service;
    const { processes, rolls } = this.#command(id, action, options.hard === true);
    const record = this.process(id);
    // Before the answer: what was accepted is carried out, whoever is killed right after.
    await commit();
    if (options.waitSeconds === undefined) return record;
    await rolled(rolls, options);
    await reached(supervisor, { action, processes, reason: (process) => this.#record(process).reason }, options);
    return this.process(id);
  }

  async plan(): Promise<PlanRecord> {
    return this.#service.reloading.plan();
  }

  async reload(options: ActOptions = {}): Promise<PlanRecord> {
    this.#auditor.audit(info(`reload for "${this.#caller.consumer}"`));
    try {
      return await this.#service.reloading.reload(`asked by ${this.#caller.consumer}`, options);
    } catch (error) {
      // Who asked gets all of it.
      if (error instanceof ProcmanError)
        this.#auditor.audit(warn(`reload for "${this.#caller.consumer}": ${error.message.split("\n")[0]}`));
      throw error;
    } finally {
      this.#overview.forget();
    }
  }

  async terminate(): Promise<void> {
    this.#auditor.audit(info(`terminate for "${this.#caller.consumer}"`));
    void this.#service.terminate(`asked by ${this.#caller.consumer}`);
    await this.#service.commit();
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

  /** Who speaks for a process is there, and a process speaks for itself alone. */
  #checkSpeaker(process: string): void {
    const { consumer, process: own = process } = this.#caller;
    if (own !== process)
      throw new ProcmanError("process-foreign", `Cannot speak for "${process}": the token of "${consumer}" is good for "${own}" alone`);
    this.#find(process);
  }

  /** Returns the processes that follow it, and the rolls that it began. */
  #command(id: string, action: Action, isHard: boolean): Commanded {
    const { consumer } = this.#caller;
    const subject = id === "all" ? undefined : id;
    try {
      const found = this.#find(id);
      const isRolling = action === "restart" && !isHard && found[0]?.id !== id;
      const commanded = isRolling ? this.#restart(found, id) : this.#atOnce(found, id, action);
      this.#auditor.audit(info(`${action}${subject === undefined ? " of all" : ""} for "${consumer}"`), subject);
      return commanded;
    } catch (error) {
      if (error instanceof ProcmanError) this.#auditor.audit(warn(`${action} of "${id}" for "${consumer}": refused: ${error.message}`));
      throw error;
    } finally {
      this.#overview.forget();
    }
  }

  #atOnce(found: readonly Process[], id: string, action: Action): Commanded {
    const { observatory, rolling, supervisor } = this.#service;
    const processes = command(action === "stop" ? supervisor.inStopOrder(found) : found, id, action);
    const isEnd = action === "stop" || action === "restart";
    // Who has asked for the end that is to come; one that was refused has not.
    if (isEnd) for (const process of processes) observatory.asked(process.id, this.#caller);
    if (action === "block" || (isEnd && found[0]?.id !== id)) rolling.abort(processes, `${action} was asked for`);
    return { processes, rolls: [] };
  }

  /** Clusters instance by instance, all else at once. */
  #restart(found: readonly Process[], id: string): Commanded {
    const { others, rolls } = this.#service.rolling.restart(found, this.#caller);
    if (others.length > 0) this.#atOnce(others, id, "restart");
    return { processes: found.filter(({ isBlocked }) => !isBlocked), rolls };
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
    return recordIn(this.#service, process);
  }

  #spec({ id }: Process): ProcessSpec {
    return this.#service.spec(id);
  }
}

function recordIn(service: Controlled, process: Process): ProcessRecord {
  return service.balancing.shown(recordOf(process, service.spec(process.id), service.observatory.seen(process.id)));
}

/** To all of them; of several, those that are so already, or are blocked, are left as they are. Returns those that follow it. */
function command(processes: readonly Process[], id: string, action: Action): readonly Process[] {
  if (processes.length === 1 && processes[0]?.id === id) {
    processes[0][action]();
    return processes;
  }
  const refusals = new Map<Process, ProcmanError>();
  for (const process of processes) {
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

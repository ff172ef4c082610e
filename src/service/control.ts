/** `Control` in process: what the API and the library's users call. */
import { ProcmanError } from "../base/errors.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { Action, ActOptions, Caller, Control, PlanOptions, Scaling } from "../contract/control.ts";
import type { EventRecord, EventType } from "../contract/event-record.ts";
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
import { command } from "./command.ts";
import type { Controlled } from "./controlled.ts";
import { eventStream } from "./event-stream.ts";
import { info, type Line, warn } from "./narrator.ts";
import { Overview } from "./overview.ts";
import { clusterOf, recordOf, withClusters } from "./records.ts";
import { stateOf } from "./state-record.ts";
import { reached, rolled } from "./target.ts";
import { unknownProcess } from "./unknown-process.ts";

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
    const records = this.#find(id).map((process) => this.#record(process));
    const [only] = records;
    return records.length === 1 && only?.id === id ? only : this.#service.balancing.shown(clusterOf(id, records));
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

  async scale(id: string, scaling: Scaling, options: ActOptions = {}): Promise<ProcessRecord> {
    const { supervisor, commit } = this.#service;
    const { added, removed } = this.#commanded(`scale${numberOf(scaling)}`, id, () => {
      this.#find(id);
      return this.#service.scaling.scale(id, scaling, this.#caller);
    });
    await commit();
    const reason = (process: Process): string => this.#record(process).reason;
    const ends = [{ action: "start", processes: added, reason } as const, { action: "stop", processes: removed, reason } as const];
    await Promise.all(ends.map((target) => reached(supervisor, target, options)));
    return this.process(id);
  }

  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return this.#service.reloading.plan(options);
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

  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord> {
    return eventStream(this.#service, { after, types }, signal);
  }

  /** Who speaks for a process is there, and a process speaks for itself alone. */
  #checkSpeaker(process: string): void {
    const { consumer, process: own = process } = this.#caller;
    if (own !== process) {
      const why = `Cannot speak for "${process}": the token of "${consumer}" is good for "${own}" alone`;
      this.#auditor.audit(warn(`refused: ${why}`), own);
      throw new ProcmanError("process-foreign", why);
    }
    this.#find(process);
  }

  /** Returns the processes that follow it, and the rolls that it began. */
  #command(id: string, action: Action, isHard: boolean): Commanded {
    return this.#commanded(action, id, () => {
      const found = this.#find(id);
      const isRolling = action === "restart" && !isHard && found[0]?.id !== id;
      return isRolling ? this.#restart(found, id) : this.#atOnce(found, id, action);
    });
  }

  /** Says who has asked for it, and what came of that. */
  #commanded<T>(what: string, id: string, carryOut: () => T): T {
    const { consumer } = this.#caller;
    const subject = id === "all" ? undefined : id;
    try {
      const outcome = carryOut();
      this.#auditor.audit(info(`${what}${subject === undefined ? " of all" : ""} for "${consumer}"`), subject);
      return outcome;
    } catch (error) {
      if (error instanceof ProcmanError) {
        const line = warn(`${what} of "${id}" for "${consumer}": refused: ${error.message}`);
        this.#auditor.audit(line, error.code === "process-unknown" ? undefined : subject);
      }
      throw error;
    } finally {
      this.#overview.forget();
    }
  }

  #atOnce(found: readonly Process[], id: string, action: Action): Commanded {
    const { observatory, rolling, supervisor } = this.#service;
    const processes = command(action === "stop" ? supervisor.inStopOrder(found) : supervisor.inStartOrder(found), id, action);
    const isEnd = action === "stop" || action === "restart";
    // Who has asked for the end that is to come; one that was refused has not.
    if (isEnd) for (const process of processes) observatory.asked(process.id, this.#caller);
    if (action === "block" || (isEnd && found[0]?.id !== id)) rolling.abort(processes, `${action} was asked for`);
    return { processes, rolls: [] };
  }

  /** Clusters instance by instance, all else at once. */
  #restart(found: readonly Process[], id: string): Commanded {
    const leaving = new Set(this.#service.leaving.map((spec) => spec.id));
    const staying = found.filter((process) => !leaving.has(process.id));
    // If there are none, it says why it refuses.
    const { others, begin } = this.#service.rolling.restart(staying.length === 0 ? found : staying, this.#caller);
    const free = others.filter(({ isBlocked }) => !isBlocked);
    if (free.length > 0) this.#atOnce(free, id, "restart");
    return { processes: staying.filter(({ isBlocked }) => !isBlocked), rolls: begin() };
  }

  /** A process, an instance, a cluster, or `all`. */
  #find(id: string): readonly Process[] {
    const { processes } = this.#service.supervisor;
    const found = processes.filter((process) => id === "all" || process.id === id || this.#spec(process).cluster?.id === id);
    if (found.length > 0) return found;
    throw unknownProcess(
      id,
      processes.map((process) => process.id),
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

function numberOf({ instances, by }: Scaling): string {
  if (instances !== undefined) return ` to ${instances}`;
  return by === undefined ? "" : ` by ${by > 0 ? "+" : ""}${by}`;
}

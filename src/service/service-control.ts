/** `Control` in process: what API and plugins call. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { ProcessSpec } from "../config/spec.ts";
import {
  type Action,
  type ActOptions,
  ANONYMOUS,
  type Caller,
  type Control,
  type PlanOptions,
  type Scaling,
  type Signalling,
} from "../contract/control.ts";
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
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { AcceptedRequest, Actions } from "./operations/action.ts";
import type { Reloads } from "./operations/reload.ts";
import type { Scaler } from "./operations/scale.ts";
import { type SignallingPorts, signalRuns } from "./operations/signalling.ts";
import { eventStream } from "./reporting/event-stream.ts";
import type { ServiceIncidents } from "./reporting/incidents.ts";
import { info, type LogLine, warn } from "./reporting/lifecycle-messages.ts";
import type { RecordCache } from "./reporting/record-cache.ts";
import type { ServiceEvents } from "./reporting/service-events.ts";
import type { ServiceMetrics } from "./reporting/service-metrics.ts";

/** Makes the `Control` of a caller. */
export function controlFactory(ports: ControlPorts): (caller: Caller) => Control {
  return (caller) => new ServiceControl(ports, caller);
}

class ServiceControl implements Control {
  readonly #ports: ControlPorts;
  readonly #caller: Caller;

  constructor(ports: ControlPorts, caller: Caller) {
    this.#ports = ports;
    this.#caller = caller;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    if (this.#caller !== ANONYMOUS) this.#ports.metrics.watch();
    return this.#ports.records.records;
  }

  async process(id: string): Promise<ProcessRecord> {
    this.#ports.metrics.watch();
    return this.#ports.records.group(id, this.#find(id));
  }

  async state(): Promise<StateRecord> {
    return this.#ports.status();
  }

  async act(id: string, action: Action, options: ActOptions = {}): Promise<ProcessRecord> {
    const { actions, commit } = this.#ports;
    const caller = this.#caller;
    const requested = this.#runAudited(action, id, () =>
      actions.act(this.#find(id), { id, action, isHard: options.hard === true, caller }),
    );
    const record = this.process(id);
    // Before the answer: what was accepted is carried out even if the service is killed right after.
    await commit();
    return this.#waitAndRead(requested, { id, options, record });
  }

  async scale(id: string, scaling: Scaling, options: ActOptions = {}): Promise<ProcessRecord> {
    const { scaler, commit } = this.#ports;
    const requested = this.#runAudited(`scale${scalingText(scaling)}`, id, () => {
      this.#find(id);
      return scaler.scale(id, scaling, this.#caller);
    });
    await commit();
    return this.#waitAndRead(requested, { id, options });
  }

  async signal(id: string, signalling: Signalling): Promise<ProcessRecord> {
    const { records, sendSignal } = this.#ports;
    const ports = { send: sendSignal, reason: (process: Process) => records.of(process).reason };
    this.#runAudited(`signal ${signalling.signal}`, id, () => signalRuns(this.#find(id), id, signalling, ports));
    const record = this.process(id);
    await this.#ports.commit();
    return record;
  }

  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return this.#ports.reloads.plan(options);
  }

  async reload(options: ActOptions = {}): Promise<PlanRecord> {
    this.#ports.log.audit(info(`reload for "${this.#caller.consumer}"`));
    try {
      return await this.#ports.reloads.reload(`asked by ${this.#caller.consumer}`, options);
    } catch (error) {
      // The audit line has the first line of the message; the caller gets all of it.
      if (error instanceof ProcmanError)
        this.#ports.log.audit(warn(`reload for "${this.#caller.consumer}": ${error.message.split("\n")[0]}`));
      throw error;
    } finally {
      this.#ports.records.invalidate();
    }
  }

  async terminate(): Promise<void> {
    this.#ports.log.audit(info(`terminate for "${this.#caller.consumer}"`));
    void this.#ports.terminate(`asked by ${this.#caller.consumer}`);
    await this.#ports.commit();
  }

  logs(query: LogQuery): Promise<LogPage> {
    return this.#ports.logAccess.logs(query);
  }

  follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    return this.#ports.logAccess.follow(query, signal);
  }

  async log(submission: LogSubmission): Promise<LogEntry> {
    const { process = this.#caller.process } = submission;
    if (process !== undefined) this.#checkMaySpeakFor(process);
    return this.#ports.logAccess.log({ ...submission, ...(process === undefined ? {} : { process }) }, this.#caller);
  }

  async telemetry(report: TelemetryReport): Promise<void> {
    this.#checkMaySpeakFor(report.process);
    return this.#ports.events.telemetry(report, this.#caller);
  }

  async metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]> {
    const ids = this.#find(id).map((process) => process.id);
    return this.#ports.metrics.read(ids, query);
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    const ids = this.#find(id).map((process) => process.id);
    return this.#ports.incidents.of(ids, limit);
  }

  async prometheus(): Promise<string> {
    const { metrics, records, status } = this.#ports;
    return metrics.prometheus(records, status());
  }

  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord> {
    return eventStream(this.#ports, { after, types }, signal);
  }

  /** Checks that the process exists, and that a process's token is used for that process only. */
  #checkMaySpeakFor(process: string): void {
    const { consumer, process: own = process } = this.#caller;
    if (own !== process) {
      const why = `Cannot speak for "${process}": the token of "${consumer}" is valid only for "${own}"`;
      this.#ports.log.audit(warn(`refused: ${why}`), own);
      throw new ProcmanError("process-foreign", why);
    }
    this.#find(process);
  }

  /** The record once the requested state is reached; without `waitSeconds`: `record`, or the present one. */
  async #waitAndRead(
    requested: AcceptedRequest,
    { id, options, record }: { readonly id: string; readonly options: ActOptions; readonly record?: Promise<ProcessRecord> },
  ): Promise<ProcessRecord> {
    if (options.waitSeconds === undefined) return record ?? this.process(id);
    await requested.done(options);
    return this.process(id);
  }

  /** Carries out the request, with an audit line: who requested what, and whether it was refused. */
  #runAudited<T>(what: string, id: string, carryOut: () => T): T {
    const { consumer } = this.#caller;
    const subject = id === "all" ? undefined : id;
    try {
      const outcome = carryOut();
      this.#ports.log.audit(info(`${what}${subject === undefined ? " of all" : ""} for "${consumer}"`), subject);
      return outcome;
    } catch (error) {
      if (error instanceof ProcmanError) {
        const line = warn(`${what} of "${id}" for "${consumer}": refused: ${error.message}`);
        this.#ports.log.audit(line, error.code === "process-unknown" ? undefined : subject);
      }
      throw error;
    } finally {
      this.#ports.records.invalidate();
    }
  }

  /** `id`: a process, an instance, a cluster, or `all`. */
  #find(id: string): readonly Process[] {
    const { processes } = this.#ports.supervisor;
    const found = processes.filter((process) => id === "all" || process.id === id || this.#ports.spec(process.id).cluster?.id === id);
    if (found.length > 0) return found;
    const clusters = processes.flatMap((process) => this.#ports.spec(process.id).cluster?.id ?? []);
    throw unknownProcess(id, new Set([...clusters, ...processes.map((process) => process.id)]));
  }
}

function scalingText({ instances, by }: Scaling): string {
  if (instances !== undefined) return ` to ${instances}`;
  return by === undefined ? "" : ` by ${by > 0 ? "+" : ""}${by}`;
}

/** The stored log. */
export type LogAccess = Pick<Control, "logs" | "follow"> & {
  readonly log: (submission: LogSubmission, caller: Caller) => Promise<LogEntry>;
};

export type ControlPorts = {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  readonly records: RecordCache;
  readonly status: () => StateRecord;
  readonly logAccess: LogAccess;
  readonly events: Pick<ServiceEvents, "follow" | "telemetry">;
  readonly metrics: Pick<ServiceMetrics, "watch" | "read" | "prometheus">;
  readonly incidents: Pick<ServiceIncidents, "of">;
  readonly actions: Pick<Actions, "act">;
  readonly reloads: Pick<Reloads, "plan" | "reload">;
  readonly sendSignal: SignallingPorts["send"];
  readonly scaler: Pick<Scaler, "scale">;
  readonly terminate: (why: string) => Promise<void>;
  /** Resolves when the keeper has received all commands and notes. */
  readonly commit: () => Promise<void>;
  readonly log: { readonly audit: (line: LogLine, id?: string) => void };
};

/** `ids`: the known ids. */
function unknownProcess(id: string, ids: Iterable<string>): ProcmanError {
  return new ProcmanError("process-unknown", `Cannot find process ${shortened(id)}: no process has this id.${didYouMean(id, ids)}`);
}

function shortened(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}

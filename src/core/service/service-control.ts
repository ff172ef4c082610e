/** `Control` in process: what API and plugins call. */
import { compact } from "../base/compact.ts";
import { ProcmanError } from "../base/errors.ts";
import { definitionRecordOf, unappliedBy } from "../config/definitions.ts";
import { isNamed } from "../config/run-selection.ts";
import type { ProcessSpec } from "../config/spec.ts";
import {
  type Action,
  type ActOptions,
  ANONYMOUS,
  type Caller,
  type Control,
  callerText,
  type DeploymentQuery,
  type PlanOptions,
  type ProcessInput,
  profileText,
  type RollbackOptions,
  type Scaling,
  type Signalling,
  scalingText,
} from "../contract/control.ts";
import type { DefinitionRecord } from "../contract/definition-record.ts";
import type { DeploymentRecord, DeployOrder, ReleaseRecord } from "../contract/deployment-record.ts";
import type { EventRecord, EventType } from "../contract/event-record.ts";
import { groupNamed, isCollective, notOne, selectorsIn, unknownProcess } from "../contract/groups.ts";
import type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "../contract/history-record.ts";
import type { PlanRecord } from "../contract/plan.ts";
import type {
  FlushRecord,
  InputRecord,
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
import type { RolloutOrder, RolloutRecord, RolloutStep } from "../contract/rollout-record.ts";
import { runPage } from "../contract/run-history.ts";
import type { Incident, RunPage, RunQuery } from "../contract/run-summary.ts";
import type { ScreenItem } from "../contract/screen.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { historyDetail, historyDiff } from "../history/history-reader.ts";
import { shownHistory } from "../history/shown-history.ts";
import type { ScopedQuery } from "../log-store/filter.ts";
import { signalOf } from "../os/signal-name.ts";
import type { Process } from "../supervisor/process.ts";
import type { ControlPorts } from "./control-ports.ts";
import { limitedControl } from "./limited-control.ts";
import { info, warn } from "./log-line.ts";
import type { AcceptedRequest } from "./operations/action.ts";
import { renewPorts } from "./operations/chosen-ports.ts";
import { signalRuns } from "./operations/signalling.ts";
import { eventStream } from "./reporting/event-stream.ts";
import { recordedIds } from "./reporting/incident-record.ts";
import { runsUnderWay } from "./reporting/process-records.ts";
import { typedIn } from "./spawn/process-input.ts";
import { TokenView } from "./view.ts";

/** Makes the `Control` of a caller. */
export function controlFactory(ports: ControlPorts): (caller: Caller) => Control {
  return (caller) => {
    if (caller.limits === undefined) return new ServiceControl(ports, caller);
    const view = new TokenView(caller.limits, ports.specs);
    return limitedControl(new ServiceControl(ports, caller, view), view);
  };
}

class ServiceControl implements Control {
  readonly #ports: ControlPorts;
  readonly #caller: Caller;
  readonly #view: TokenView | undefined;

  /** `view`: of a limited token. Absent: all processes are found. */
  constructor(ports: ControlPorts, caller: Caller, view?: TokenView) {
    this.#ports = ports;
    this.#caller = caller;
    this.#view = view;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    if (this.#caller !== ANONYMOUS) this.#ports.metrics.watch();
    const { records } = this.#ports;
    return this.#view === undefined
      ? records.records
      : records.withClusters(this.#processes.map((process) => records.of(process)));
  }

  async process(id: string): Promise<ProcessRecord> {
    this.#ports.metrics.watch();
    return this.#ports.records.group(id, this.#find(id));
  }

  async definitions(id: string): Promise<readonly DefinitionRecord[]> {
    const found = this.#find(id);
    // A reload may remove one meanwhile.
    const specs = found.map((process) => this.#ports.specs.of(process.id));
    const unapplied = unappliedBy(
      () => this.#ports.reloads.plan(),
      found.map((process) => process.id),
    );
    const { writtenParts } = await import("../config/written-parts.ts");
    const written = writtenParts(this.#ports.specs.config.file);
    return specs.map((spec) => definitionRecordOf(spec, unapplied, written));
  }

  async state(): Promise<StateRecord> {
    const { status, reloads, rollout } = this.#ports;
    const { unapplied, lastReload } = reloads;
    return { ...status(this.#processes), ...compact({ unapplied, lastReload, rollout: rollout.mark }) };
  }

  async act(id: string, action: Action, options: ActOptions = {}): Promise<ProcessRecord> {
    const { actions, link } = this.#ports;
    const { hard = false, withDependencies = false } = options;
    if (action === "start" || action === "restart") await renewPorts(this.#named(id), this.#ports);
    const mayStart = withDependencies ? (dependency: Process) => this.#view?.allows(dependency.id) ?? true : undefined;
    const requested = this.#runAudited(`${action}${withDependencies ? " with dependencies" : ""}`, id, () =>
      actions.act(this.#find(id), { id, action, isHard: hard, mayStart, caller: this.#caller }),
    );
    const record = this.process(id);
    // Before the answer: what was accepted is carried out even if the service is killed right after.
    await link.commit();
    return this.#waitAndRead(requested, { id, options, record });
  }

  async scale(id: string, scaling: Scaling, options: ActOptions = {}): Promise<ProcessRecord> {
    const { scaler, link } = this.#ports;
    const requested = this.#runAudited(`scale${scalingText(scaling)}`, id, () => {
      this.#find(id);
      return scaler.scale(id, scaling, this.#caller);
    });
    await link.commit();
    return this.#waitAndRead(requested, { id, options });
  }

  async signal(id: string, signalling: Signalling): Promise<ProcessRecord> {
    // Checked before the audit line is written, which therefore repeats no arbitrary text.
    const signal = signalling.signal === "reload" ? "reload" : signalOf(signalling.signal, "body.signal");
    const what = signal === "reload" ? signal : `signal ${signal}`;
    this.#runAudited(what, id, () => signalRuns(this.#find(id), id, { ...signalling, signal }, this.#ports));
    const record = this.process(id);
    await this.#ports.link.commit();
    return record;
  }

  async input(id: string, input: ProcessInput): Promise<InputRecord> {
    const typed = typedIn(input);
    const { screens, typeInto } = this.#ports;
    if (input.size !== undefined) await screens.resize(this.#findOne(id), input.size);
    const type = (): InputRecord => {
      const process = this.#findOne(id);
      return { process: process.id, bytes: typeInto(process, typed) };
    };
    // At a terminal, each key is an input; what is empty only asks, or sizes the terminal.
    const length = Buffer.byteLength(typed);
    const isNoted = length > 0 && !screens.isWatching(id, this.#caller);
    return isNoted ? this.#runAudited(`input of ${length === 1 ? "1 byte" : `${length} bytes`}`, id, type) : type();
  }

  async *screen(id: string, signal: AbortSignal): AsyncGenerator<ScreenItem> {
    const { id: found } = this.#runAudited("terminal", id, () => this.#findOne(id, "show the terminal of"));
    yield* this.#ports.screens.watch(found, this.#caller, signal);
  }

  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return this.#ports.reloads.checkedPlan(options);
  }

  async reload(options: ActOptions & PlanOptions = {}): Promise<PlanRecord> {
    const caller = this.#caller;
    return this.#audited(`reload${profileText(options)}`, () =>
      this.#ports.reloads.reload(`asked by ${caller.consumer}`, { ...options, caller }),
    );
  }

  async rollback(to?: string, options: RollbackOptions = {}): Promise<RollbackRecord> {
    const { rollbacks, deployments } = this.#ports;
    const asked = { ...options, caller: this.#caller };
    return this.#audited(
      `rollback to ${JSON.stringify(to ?? "the one before").slice(0, 40)}`,
      async () => (await deployments.rollback(to, asked)) ?? rollbacks.rollback(to, asked),
    );
  }

  async releases(): Promise<readonly ReleaseRecord[]> {
    return this.#ports.deployments.releases();
  }

  async deploy(order: DeployOrder): Promise<DeploymentRecord> {
    const what = order.folder ?? order.tarball ?? order.ref ?? order.release ?? "nothing";
    return this.#audited(`deployment of ${JSON.stringify(what.slice(0, 200))}`, () =>
      this.#ports.deployments.deploy(order, this.#caller),
    );
  }

  async deployment(id: string, query?: DeploymentQuery): Promise<DeploymentRecord> {
    return this.#ports.deployments.deployment(id, query);
  }

  async rollout(query?: DeploymentQuery): Promise<RolloutRecord> {
    return this.#ports.rollout.rollout(query);
  }

  async joinRollout(order: RolloutOrder): Promise<RolloutRecord> {
    return this.#audited(`rollout ${order.id} of ${order.action.kind}`, () =>
      this.#ports.rollout.join(order, this.#caller),
    );
  }

  async stepRollout(step: RolloutStep): Promise<RolloutRecord> {
    return this.#audited(`step "${step.step}" of rollout ${step.id}`, () =>
      this.#ports.rollout.step(step, this.#caller),
    );
  }

  /** A request that concerns all processes; its answer may take a while. */
  async #audited<T>(request: string, carryOut: () => Promise<T>): Promise<T> {
    const what = `${request} for ${callerText(this.#caller)}`;
    this.#ports.log.audit(info(what));
    try {
      return await carryOut();
    } catch (error) {
      // The audit line has the first line of the message; the caller gets all of it.
      if (error instanceof ProcmanError) this.#ports.log.audit(warn(`${what}: ${error.message.split("\n")[0]}`));
      throw error;
    } finally {
      this.#ports.records.invalidate();
    }
  }

  async history(limit?: number): Promise<readonly HistoryEntry[]> {
    return shownHistory(this.#ports.history, limit);
  }

  async historyEntry(entry: string): Promise<HistoryDetail> {
    return historyDetail(entry, this.#ports.history);
  }

  async diff(from: string, to?: string): Promise<HistoryDiff> {
    return historyDiff(this.#ports.history, from, to);
  }

  async terminate(): Promise<void> {
    this.#ports.log.audit(info(`terminate for ${callerText(this.#caller)}`));
    void this.#ports.terminate(`asked by ${this.#caller.consumer}`);
    await this.#ports.link.commit();
  }

  async logs(query: LogQuery): Promise<LogPage> {
    return this.#ports.logAccess.logs(this.#viewed(query));
  }

  async *follow(query: LogQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
    yield* this.#ports.logAccess.follow(this.#viewed(query), signal);
  }

  async flush(ids: readonly string[] = []): Promise<FlushRecord> {
    const names = ids.length === 0 || ids.includes("all") ? ["all"] : ids;
    // An unknown id refuses the whole request, and each audit line says so.
    const find = (): readonly string[] => [
      ...new Set(names.flatMap((name) => this.#find(name).map((process) => process.id))),
    ];
    const [processes = []] = names.map((id) =>
      this.#runAudited(id === "all" ? "flush of the logs" : "flush of the log files", id, find),
    );
    return this.#ports.logAccess.flush({ processes, all: this.#ports.specs.all, store: names.includes("all") });
  }

  async log(submission: LogSubmission): Promise<LogEntry> {
    const { process = this.#caller.process } = submission;
    if (process !== undefined) this.#speaksFor(process);
    return this.#ports.logAccess.log({ ...submission, ...(process === undefined ? {} : { process }) }, this.#caller);
  }

  async telemetry(report: TelemetryReport): Promise<void> {
    const { process: id } = report;
    const found = this.#speaksFor(id);
    if (found.some((each) => each.id !== id))
      throw notOne(`Cannot take telemetry of "${id}"`, `it is a cluster; name an instance, such as "${found[0]?.id}"`);
    return this.#ports.events.telemetry(report, this.#caller);
  }

  async metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]> {
    const former = this.#ports.specs.scaledIds(id).filter((each) => this.#view?.allows(each) !== false);
    return this.#ports.metrics.read([...this.#find(id).map((process) => process.id), ...former], query);
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    return this.#ports.incidents.of(recordedIds(this.#find(id), id), limit);
  }

  async runs(id: string, query: RunQuery = {}): Promise<RunPage> {
    const found = this.#find(id);
    const present = found.flatMap(runsUnderWay);
    return runPage([...present, ...(await this.#ports.incidents.ended(found.map((process) => process.id)))], query);
  }

  async prometheus(): Promise<string> {
    const { metrics, records, status } = this.#ports;
    return metrics.prometheus(records, status(this.#processes), this.#processes);
  }

  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord> {
    const logAccess = {
      follow: (query: LogQuery, stop: AbortSignal): AsyncIterable<LogItem> => this.follow(query, stop),
    };
    return eventStream({ events: this.#ports.events, logAccess }, { after, types }, signal);
  }

  /** The process, or the instances of the cluster. Checks that it exists, and that a process's token is used for that process only. */
  #speaksFor(process: string): readonly Process[] {
    const { consumer, process: own = process } = this.#caller;
    if (own !== process) {
      const why = `Cannot speak for "${process}": the token of "${consumer}" is valid only for "${own}"`;
      this.#ports.log.audit(warn(`refused: ${why}`), own);
      throw new ProcmanError("process-foreign", why);
    }
    if (isCollective(process)) throw notOne(`Cannot speak for "${process}"`, "it is not one process; name a process");
    return this.#find(process);
  }

  /** The record once the requested state is reached; without `waitSeconds`: `record`, or the present one. */
  async #waitAndRead(
    requested: AcceptedRequest,
    {
      id,
      options,
      record,
    }: { readonly id: string; readonly options: ActOptions; readonly record?: Promise<ProcessRecord> },
  ): Promise<ProcessRecord> {
    if (options.waitSeconds === undefined) return record ?? this.process(id);
    await requested.done(options);
    try {
      return await this.process(id);
    } catch (error) {
      if (!(error instanceof ProcmanError) || error.code !== "process-unknown") throw error;
      const why = `Cannot find ${JSON.stringify(id)} any more: it was removed from the configuration meanwhile`;
      throw new ProcmanError(error.code, why, { cause: error });
    }
  }

  /** Carries out the request, with an audit line: who requested what, and whether it was refused. */
  #runAudited<T>(what: string, id: string, carryOut: () => T): T {
    const caller = callerText(this.#caller);
    const subject = isCollective(id) ? undefined : id;
    try {
      const outcome = carryOut();
      this.#ports.log.audit(info(`${what}${subject === undefined ? ` of ${id}` : ""} for ${caller}`), subject);
      return outcome;
    } catch (error) {
      // A client asks again and again until there is room.
      if (error instanceof ProcmanError && error.taken !== 0) {
        const line = warn(`${what} of "${id}" for ${caller}: refused: ${error.message}`);
        this.#ports.log.audit(line, error.code === "process-unknown" ? undefined : subject);
      }
      throw error;
    } finally {
      this.#ports.records.invalidate();
    }
  }

  /** @throws {ProcmanError} `process-unknown`, `input-refused` */
  #findOne(id: string, what = "send to"): Process {
    const [process, another] = this.#find(id);
    if (process !== undefined && another === undefined && !isCollective(id)) return process;
    throw new ProcmanError(
      "input-refused",
      `Cannot ${what} "${id}": it is not one process; name one, such as "${process?.id}"`,
    );
  }

  /** Processes that the caller may see and act on. */
  get #processes(): readonly Process[] {
    const { processes } = this.#ports.supervisor;
    return this.#view === undefined ? processes : processes.filter(({ id }) => this.#view?.allows(id));
  }

  /** `id`: a process, an instance, a cluster, a group, or `all`. */
  #named(id: string): readonly Process[] {
    return this.#processes.filter((process) => id === "all" || isNamed(id, this.#ports.specs.of(process.id)));
  }

  #find(id: string): readonly Process[] {
    const found = this.#named(id);
    if (found.length > 0) return found;
    const specs = this.#processes.map((process) => this.#ports.specs.of(process.id));
    throw unknownProcess(
      id,
      new Set(specs.flatMap((each) => [each.cluster?.id ?? each.id, each.id])),
      selectorsIn(specs),
    );
  }

  /** The query with what the caller may see. The members of a group are those of the present configuration, also while it is followed. */
  #viewed(query: LogQuery): ScopedQuery {
    const { processes = [], ...rest } = query;
    const groups = processes.filter((id) => groupNamed(id) !== undefined);
    for (const group of groups) this.#find(group);
    return {
      ...rest,
      ...(processes.length === 0 ? {} : { processes: processes.filter((id) => !groups.includes(id)) }),
      ...(groups.length === 0 ? {} : { isNamed: this.#membership(groups) }),
      ...(this.#view === undefined ? {} : { view: this.#view }),
    };
  }

  /** Whether a process, an instance or a cluster is in one of the groups. */
  #membership(groups: readonly string[]): (id: string) => boolean {
    let known: readonly ProcessSpec[] = [];
    let members: ReadonlySet<string> = new Set();
    return (id) => {
      const specs = this.#ports.specs.all;
      if (specs !== known) {
        const found = specs.filter((each) => groups.some((group) => isNamed(group, each)));
        known = specs;
        members = new Set(found.flatMap((each) => [each.id, each.cluster?.id ?? each.id]));
      }
      return members.has(id);
    };
  }
}

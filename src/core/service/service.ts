/** The composition root of the service: configuration in, supervised processes out. */
import { RunMarkers } from "../base/run-marker.ts";
import { noRestartBy } from "../config/run-selection.ts";
import type { Config } from "../config/spec.ts";
import type { Caller, Control } from "../contract/control.ts";
import { instanceMemory } from "../contract/scale-record.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { FromKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger } from "../ipc/logger-protocol.ts";
import { LastLines } from "../log-store/log-pages.ts";
import type { HeldSockets } from "../os/inherited-sockets.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { isQuiet } from "../supervisor/verdict.ts";
import { Autoscaler } from "./autoscale/autoscaler.ts";
import { Balancing } from "./balancer/balancing.ts";
import { SharedSockets } from "./balancer/shared-sockets.ts";
import { ActiveConfig } from "./config/active-config.ts";
import { ConfigHistory } from "./config/config-history.ts";
import { FileWatching } from "./file-watching.ts";
import { ApiService } from "./http/api-server.ts";
import type { KeeperChannel } from "./keeper-channel.ts";
import { Actions } from "./operations/action.ts";
import { replaceTakenPorts } from "./operations/chosen-ports.ts";
import { Deployments } from "./operations/deployments.ts";
import { type EndOptions, exitWithOf } from "./operations/exit-with.ts";
import { HostRollout } from "./operations/host-rollout.ts";
import type { OperationContext } from "./operations/operation-context.ts";
import { Operations } from "./operations/operations.ts";
import { type ReloadOptions, Reloads } from "./operations/reload.ts";
import { Rollbacks } from "./operations/rollback.ts";
import { RollingRestarts } from "./operations/rolling-restart.ts";
import { Scaler } from "./operations/scale.ts";
import { Shutdown, type ShutdownEvents } from "./operations/shutdown.ts";
import { ServicePlugins } from "./plugins.ts";
import { ProcessBus } from "./process-bus.ts";
import { recover } from "./recovery/cut-off-end.ts";
import { withGoneFiles } from "./recovery/gone-files.ts";
import { LastingState } from "./recovery/lasting-state.ts";
import { NoteStore } from "./recovery/notes.ts";
import { restore } from "./recovery/restore.ts";
import { messageForEvent, requestOf } from "./reporting/event-messages.ts";
import { IdleReport } from "./reporting/idle-report.ts";
import { messageFor } from "./reporting/lifecycle-messages.ts";
import { OwnParts } from "./reporting/own-parts.ts";
import { newReporting, type Reporting } from "./reporting/reporting.ts";
import { serviceStatus } from "./reporting/service-status.ts";
import { controlFactory } from "./service-control.ts";
import { hiddenOutputNotice, ServiceLog } from "./service-log.ts";
import type { Services } from "./services.ts";
import type { AccessOfProcess } from "./spawn/environment.ts";
import { ExecSessions } from "./spawn/exec-sessions.ts";
import { HookRunner } from "./spawn/hooks.ts";
import { MemoryLimitWatch } from "./spawn/memory-limit.ts";
import { PidFiles } from "./spawn/pid-file.ts";
import { PortHandovers } from "./spawn/port-handovers.ts";
import { Probes } from "./spawn/probing.ts";
import { typeInto } from "./spawn/process-input.ts";
import { ReadyFiles } from "./spawn/ready-files.ts";
import { Screens } from "./spawn/screens.ts";
import type { KeeperSpawner } from "./spawn/spawner.ts";
import { spawnerOf } from "./spawn/spawner.ts";
import { Sweeper } from "./spawn/sweeper.ts";
import { TakenPorts } from "./spawn/taken-ports.ts";
import { SpecRegistry } from "./spec-registry.ts";
import { StoredLog } from "./stored-log.ts";
import type { Subsystem } from "./subsystem.ts";
import { systemClock } from "./system-clock.ts";

type ServiceSnapshot = FromKeeper & { readonly t: "snapshot" };

export class ProcmanService {
  readonly supervisor: Supervisor;
  readonly operations = new Operations();
  readonly actions: Actions;
  readonly rollingRestarts: RollingRestarts;
  readonly reloads: Reloads;
  readonly scaler: Scaler;
  /** For each caller. */
  readonly control: (caller: Caller) => Control;
  /** Milliseconds since 1970. */
  readonly #startedAt = Date.now();
  readonly #link: KeeperChannel;
  readonly #specs: SpecRegistry;
  readonly #log: ServiceLog;
  readonly #services: Services;
  readonly #lasting: LastingState;
  readonly #storedLog: StoredLog;
  readonly #activeConfig: ActiveConfig;
  readonly #history: ConfigHistory;
  readonly #rollbacks: Rollbacks;
  readonly #deployments: Deployments;
  readonly #rollout: HostRollout;
  readonly #reporting: Reporting;
  readonly #sweeper: Sweeper;
  readonly #hooks: HookRunner;
  readonly #exec: ExecSessions;
  readonly #spawner: KeeperSpawner;
  readonly #sockets: SharedSockets;
  readonly #balancing: Balancing;
  readonly #autoscaler: Autoscaler;
  readonly #shutdown: Shutdown;
  readonly #parts: OwnParts;
  readonly #api: ApiService;
  readonly #plugins: ServicePlugins;
  /** Called in this order. A new subsystem is added here. */
  readonly #subsystems: readonly Subsystem[];

  constructor(config: Config, link: KeeperChannel, options: ServiceOptions = {}) {
    const { ends = {}, sockets, source, steadyMs } = options;
    const specs = new SpecRegistry(config);
    const log = new ServiceLog(link, specs);
    const notes = new NoteStore(link);
    const markers = new RunMarkers(config.stateDir, "");
    const bus = new ProcessBus((problem) => log.warn(problem));
    const first = { link, log, notes, specs, markers, bus };
    this.#link = link;
    this.#specs = specs;
    this.#log = log;
    this.#lasting = new LastingState(first);
    this.#storedLog = new StoredLog(first);
    this.#sweeper = new Sweeper(markers);
    // What a start needs of parts that are made later, as they need the supervisor.
    const accessOf: AccessOfProcess = (id) => this.#api.accessOf(id);
    this.#hooks = new HookRunner(first, accessOf);
    this.#exec = new ExecSessions(first, accessOf);
    const ports = new TakenPorts(first, (id) => this.supervisor.statesOf(id));
    const handovers = new PortHandovers(
      (id) => this.supervisor.statesOf(id),
      (call) => this.supervisor.watch(call),
    );
    this.#spawner = spawnerOf(first, {
      sweeper: this.#sweeper,
      hooks: this.#hooks,
      accessOf,
      ports,
      remedy: (spec) => this.#sockets.remedy(spec),
      defersStart: (slot, start) => handovers.defers(slot, start),
      defersStop: (stop) => this.#balancing.defersStop(stop),
    });
    this.supervisor = this.#newSupervisor(bus);
    const services: Services = { ...first, supervisor: this.supervisor };
    this.#services = services;
    this.#activeConfig = new ActiveConfig(services, specs, () => this.#apply(), options.profile);
    this.#reporting = this.#newReporting(ends, ports);
    const { stats, events, metrics, incidents } = this.#reporting;
    this.#history = new ConfigHistory(services, config.stateDir, (entry) => events.onApplied(entry));
    this.#sockets = new SharedSockets(services, sockets);
    this.#balancing = new Balancing(services, {
      events,
      spawner: this.#spawner,
      sockets,
    });
    this.#parts = new OwnParts(process.ppid, this.#balancing);
    const context: OperationContext = {
      ...services,
      ...this.#reporting,
      operations: this.operations,
      activeConfig: this.#activeConfig,
      history: this.#history,
      balancing: this.#balancing,
      sockets: this.#sockets,
      handovers,
      lasting: this.#lasting,
      steadyMs,
    };
    this.rollingRestarts = new RollingRestarts(context);
    this.scaler = new Scaler(context, source);
    this.#autoscaler = new Autoscaler({ ...context, ...this.#reporting, scaler: this.scaler });
    this.reloads = new Reloads(context, this.scaler, options);
    replaceTakenPorts(services, this.reloads);
    this.#rollbacks = new Rollbacks(context, this.reloads);
    this.actions = new Actions(context, this.rollingRestarts);
    const { reloads, actions } = this;
    this.#deployments = new Deployments({
      ...context,
      balancing: this.#balancing,
      incidents,
      reloads,
      rollbacks: this.#rollbacks,
      actions,
      scaler: this.scaler,
      exec: this.#exec,
      needsUpload: (order) => this.#rollout.needsUpload(order),
    });
    this.#rollout = new HostRollout({ ...context, events, control: (caller) => this.control(caller) });
    this.#shutdown = this.#newShutdown(context, ends);
    this.control = this.#newControl();
    const calls = { control: this.control, executor: (caller: Caller) => this.#exec.executor(caller) };
    this.#api = new ApiService(services, calls, sockets ?? new Map(), this.#spawner);
    this.#plugins = new ServicePlugins(services, events, this.control);
    this.#subsystems = [
      new PidFiles(services),
      new Probes(services, stats),
      new ReadyFiles(services),
      new MemoryLimitWatch(services, stats),
      this.#balancing,
      this.#sockets,
      new FileWatching(services, this.rollingRestarts),
      this.#plugins,
      this.#shutdown,
      this.rollingRestarts,
      this.reloads,
      this.#rollbacks,
      this.#deployments,
      this.#rollout,
      this.#history,
      this.#autoscaler,
      metrics,
      incidents,
      this.#lasting,
      this.#exec,
      this.#api,
      new IdleReport(services, stats),
    ];
  }

  /** Bytes that one instance uses now, by cluster. */
  get instanceMemory(): ReadonlyMap<string, number> {
    return instanceMemory(this.#reporting.records.records);
  }

  get config(): Config {
    return this.#specs.config;
  }

  get isTerminating(): boolean {
    return this.#shutdown.isUnderWay;
  }

  /** Listens on the port of the API. The keeper's snapshot may be handled when the promise is fulfilled. */
  listen(): Promise<void> | undefined {
    return this.#api.listen();
  }

  /** `socket`: what has come with it. */
  receive(message: Exclude<FromKeeper, { readonly t: "refused" | "aside" | "keep" | "drop" }>, socket?: unknown): void {
    switch (message.t) {
      case "snapshot":
        return this.#onSnapshot(message);
      case "spawned":
      case "exited":
      case "failed":
        return this.#spawner.receive(message);
      case "logger":
        return this.#onLogger(message.message);
      case "stop":
        return void this.terminate(message.signal);
      case "synced":
        return this.#link.onSynced(message.number);
      case "ping":
        return this.#link.send({ t: "pong" });
      case "cgroups":
        return this.#spawner.useCgroups(message, (problem) => this.#log.warn(problem));
      case "copy":
        return this.#balancing.sharing.queues.take(message.address, socket);
      case "parts":
        return this.#parts.learn(message);
      case "renewed":
        return this.#api.renew();
      case "signalled":
        return void this.reloads.reloadWhenFree(message.signal);
      default:
        return message satisfies never;
    }
  }

  /** Stops everything in reverse order of start; the keeper ends when that is done. */
  terminate(why: string, code?: number): Promise<void> {
    return this.#shutdown.begin(why, code);
  }

  /** Retires for another service: processes keep running, this service decides, answers and sends nothing any more. */
  async retire(): Promise<void> {
    this.supervisor.dispose();
    this.#sweeper.stop();
    this.#hooks.retire();
    const retired = this.#subsystems.map((subsystem) => subsystem.retire?.());
    this.#link.close();
    await Promise.all(retired);
  }

  #onLogger(message: FromLogger): void {
    if (message.t === "stored") this.#storedLog.onStored(message);
    else if (message.t === "flushed") this.#storedLog.onFlushed(message);
    else this.#log.relay(message);
  }

  #onSnapshot(snapshot: ServiceSnapshot): void {
    const { notes, running, lineage } = snapshot;
    const { metrics, incidents, events } = this.#reporting;
    this.#services.notes.load(notes, lineage);
    const read = this.reloads.withNotedProfile(this.config, this.#rollbacks.underWay);
    const { config, gone } = withGoneFiles(this.scaler.resume(read), snapshot);
    for (const file of gone)
      this.#log.warn(`${file} is gone, which the configuration includes; its processes go on until "procman reload"`);
    this.#activeConfig.sendStyle();
    const isFirst = Object.keys(notes).length === 0 && running.length === 0;
    const hidden = isFirst ? hiddenOutputNotice(config) : undefined;
    if (hidden !== undefined) this.#log.info(hidden);
    this.#spawner.load(snapshot);
    this.#balancing.sharing.queues.isSupported = snapshot.copies === true;
    this.#exec.load(snapshot.markerKey, isFirst);
    this.#lasting.load(config.processes);
    const recovered = recover(snapshot, config, this.#services, this.#lasting);
    this.#specs.reset(recovered.previous);
    restore(recovered, config, this.#services, this.#spawner);
    for (const subsystem of this.#subsystems) subsystem.resume?.();
    if (!this.#shutdown.isUnderWay) {
      this.reloads.recover(config);
      this.#rollbacks.recover();
      this.#deployments.recover();
      this.#rollout.recover();
      this.#shutdown.checkExitWith();
    }
    this.#spawner.deliverBuffered();
    incidents.recover();
    events.publishServiceState();
    metrics.start();
    for (const { slot, run, captured } of running) if (!captured) this.#activeConfig.route(slot, run);
    this.#link.flush();
    // At a first start no client connects before the first processes run; otherwise clients may be waiting.
    this.#api.start(isFirst, (problem) => {
      if (problem !== undefined) this.#log.error(`${problem}; processes keep running`);
      // An upgrade needs no port if there was none before.
      this.#link.send({ t: "ready", ...(problem === undefined || this.#api.hadProblem ? {} : { problem }) });
    });
  }

  /** Another configuration was applied. */
  #apply(): void {
    for (const subsystem of this.#subsystems) subsystem.apply?.();
    this.#spawner.refreshOrders();
  }

  #newReporting(ends: EndOptions, ports: TakenPorts): Reporting {
    const lastLines = new LastLines(this.config.stateDir);
    return newReporting(this.#services, {
      noRestartBy: (spec) => noRestartBy(ends, spec),
      lastLines: (query) => lastLines.of(query),
      takenPort: (run, lines) => ports.inLines(run, lines),
      withBalancer: (record) => this.#autoscaler.decorate(this.#balancing.decorate(record)),
      status: () => this.#status(),
    });
  }

  #newSupervisor(bus: ProcessBus): Supervisor {
    return new Supervisor({
      clock: systemClock,
      spawner: this.#spawner,
      lasting: this.#lasting,
      publish: (transition) => {
        const spec = this.#specs.of(transition.slot);
        bus.transitions.publish({
          id: spec.id,
          spec,
          transition,
          line: messageFor(transition, this.#reporting.stats.messageContext(spec.id)),
        });
        if (isQuiet(transition.to)) this.#shutdown.checkExitWith();
      },
      notice: (id, notice) => {
        const removal = this.scaler.request ?? { kind: "removed", ...this.#specs.clusterLeftBy(id) };
        const [line, request] = [messageForEvent(notice, removal), requestOf(notice, removal)];
        bus.events.publish({ id, event: notice, line, request });
      },
      removed: (id) => {
        bus.removed.publish(id);
        this.#lasting.forget(id);
        this.#activeConfig.drop(id);
      },
      hasPendingRestart: (id) => this.operations.isPending(id),
    });
  }

  #newShutdown(context: OperationContext, ends: EndOptions): Shutdown {
    const { incidents, events } = this.#reporting;
    const calls: ShutdownEvents = {
      onBegin: (why) => {
        incidents.onShutdown(why);
        events.publishServiceState();
        for (const subsystem of this.#subsystems) subsystem.end?.();
      },
      onStopped: async () => {
        for (const subsystem of this.#subsystems) await subsystem.stopped?.();
      },
    };
    return new Shutdown(context, calls, exitWithOf(ends, this.#specs));
  }

  #newControl(): (caller: Caller) => Control {
    const { actions, reloads, scaler } = this;
    return controlFactory({
      ...this.#services,
      ...this.#reporting,
      actions,
      reloads,
      scaler,
      screens: new Screens(this.#services),
      typeInto: (process, typed) => typeInto(process, typed, { specs: this.#specs, records: this.#reporting.records }),
      spawner: this.#spawner,
      logAccess: this.#storedLog,
      history: this.#history.store,
      rollbacks: this.#rollbacks,
      deployments: this.#deployments,
      rollout: this.#rollout,
      status: (processes) => this.#status(processes),
      terminate: (why) => this.terminate(why),
    });
  }

  #status(processes = this.supervisor.processes): StateRecord {
    return serviceStatus({
      config: this.config,
      processes,
      isSkipped: (id) => this.supervisor.isSkipped(id),
      isTerminating: this.#shutdown.isUnderWay,
      startedAt: this.#startedAt,
      keeper: process.ppid,
      parts: this.#parts.records,
      plugins: this.#plugins.records,
    });
  }
}

export type ServiceOptions = ReloadOptions & {
  /** When procman ends by itself. */
  readonly ends?: EndOptions | undefined;
  /** Listening sockets that it holds for the next keeper. */
  readonly sockets?: HeldSockets | undefined;
  /** Default of `minUptimeMs`. Milliseconds, default 1000. */
  readonly steadyMs?: number | undefined;
};

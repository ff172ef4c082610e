/** The composition root of the service: configuration in, supervised processes out. */
import { RunMarkers } from "../base/run-marker.ts";
import { inheritanceOf } from "../config/inheritance.ts";
import { noRestartBy } from "../config/run-selection.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { FromKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger } from "../ipc/logger-protocol.ts";
import { LastLines } from "../log-store/log-pages.ts";
import type { HeldSockets } from "../os/inherited-sockets.ts";
import type { Process } from "../supervisor/process.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { isQuiet, isRunning } from "../supervisor/verdict.ts";
import { Balancing } from "./balancer/balancing.ts";
import { SharedSockets } from "./balancer/shared-sockets.ts";
import { ActiveConfig } from "./config/active-config.ts";
import { FileWatching } from "./file-watching.ts";
import { ApiService } from "./http/api-server.ts";
import type { KeeperChannel } from "./keeper-channel.ts";
import { Actions } from "./operations/action.ts";
import { type EndOptions, exitWithOf } from "./operations/exit-with.ts";
import { Operations } from "./operations/operations.ts";
import { type ReloadOptions, Reloads } from "./operations/reload.ts";
import { RollingRestarts } from "./operations/rolling-restart.ts";
import { Scaler } from "./operations/scale.ts";
import { Shutdown } from "./operations/shutdown.ts";
import { ServicePlugins } from "./plugins.ts";
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
import { ServiceLog } from "./service-log.ts";
import { type HookPorts, HookRunner } from "./spawn/hooks.ts";
import { limitOf, MemoryLimitWatch } from "./spawn/memory-limit.ts";
import { PidFiles } from "./spawn/pid-file.ts";
import type { InstancePort } from "./spawn/port-conflicts.ts";
import { Probes } from "./spawn/probing.ts";
import { ReadyFiles } from "./spawn/ready-files.ts";
import type { KeeperSpawner } from "./spawn/spawner.ts";
import { spawnerOf } from "./spawn/spawner.ts";
import { Sweeper } from "./spawn/sweeper.ts";
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
  readonly #notes: NoteStore;
  readonly #log: ServiceLog;
  readonly #lasting: LastingState;
  readonly #storedLog: StoredLog;
  readonly #activeConfig: ActiveConfig;
  readonly #reporting: Reporting;
  readonly #markers: RunMarkers;
  readonly #sweeper: Sweeper;
  readonly #hooks: HookRunner;
  readonly #spawner: KeeperSpawner;
  readonly #sockets: SharedSockets;
  readonly #balancing: Balancing;
  readonly #shutdown: Shutdown;
  readonly #parts = new OwnParts(process.ppid, () => this.#balancing.identity);
  readonly #api: ApiService;
  readonly #plugins: ServicePlugins;
  /** Called in this order. A new subsystem is added here. */
  readonly #subsystems: readonly Subsystem[];

  constructor(config: Config, link: KeeperChannel, options: ServiceOptions = {}) {
    this.#markers = new RunMarkers(config.stateDir, "");
    this.#sweeper = new Sweeper(this.#markers);
    const log = new ServiceLog(link, (slot) => this.#activeConfig.instanceOf(slot));
    const notes = new NoteStore(link);
    const supervisor = (): Supervisor => this.supervisor;
    const activeConfig = new ActiveConfig(config, {
      link,
      notes,
      supervisor,
      apply: () => this.#apply(),
      profileOfRun: options.profile,
    });
    this.#link = link;
    this.#notes = notes;
    this.#log = log;
    this.#storedLog = this.#newStoredLog(config.stateDir, log);
    this.#activeConfig = activeConfig;
    this.#lasting = this.#newLasting(config.stateDir, log);
    this.#reporting = this.#newReporting(options.ends);
    const { bus, stats, events, metrics, incidents } = this.#reporting;
    const ports = {
      link,
      notes,
      log,
      bus,
      events,
      supervisor,
      activeConfig,
      stateDir: config.stateDir,
      markers: this.#markers,
      config: () => activeConfig.config,
      specs: () => activeConfig.config.processes,
      spec: (slot: string) => activeConfig.spec(slot),
      processes: () => this.supervisor.processes,
      statesOf: (id: string) => this.supervisor.statesOf(id),
      setProblem: (id: string, problem: string | undefined) => stats.setProblem(id, problem),
      flush: () => link.flush(),
      inheritance: (spec: ProcessSpec) => inheritanceOf(spec, activeConfig.config),
    };
    this.#sockets = new SharedSockets({ ...ports, sockets: options.sockets });
    [this.#hooks, this.#spawner] = this.#newSpawner(ports);
    this.#balancing = new Balancing({
      ...ports,
      publishState: (id, text) => events.publishState(id, text),
      sendStop: (stop) => this.#spawner.sendStop(stop),
      sockets: options.sockets,
    });
    this.supervisor = this.#newSupervisor();
    const operating = this.#operationPorts();
    this.rollingRestarts = new RollingRestarts({ ...operating, steadyMs: options.steadyMs });
    const { rollingRestarts } = this;
    this.reloads = new Reloads({ ...operating, ...options, resetCounts: () => this.scaler.resetCounts() });
    this.scaler = new Scaler({ ...operating, source: options.source });
    this.actions = new Actions({ ...operating, removing: () => activeConfig.removing, rollingRestarts });
    this.#shutdown = this.#newShutdown(options.ends);
    this.control = this.#newControl();
    const { control } = this;
    this.#api = this.#newApi(config, options.sockets);
    this.#plugins = new ServicePlugins({ ...ports, control, markers: this.#markers });
    this.#subsystems = [
      new PidFiles(ports),
      new Probes(ports),
      new ReadyFiles(ports),
      new MemoryLimitWatch(ports),
      this.#balancing,
      this.#sockets,
      new FileWatching({ ...ports, rollingRestarts }),
      this.#plugins,
      this.#shutdown,
      rollingRestarts,
      this.reloads,
      metrics,
      incidents,
      this.#lasting,
      this.#api,
      new IdleReport({ ...ports, stats }),
    ];
  }

  get config(): Config {
    return this.#activeConfig.config;
  }

  get isTerminating(): boolean {
    return this.#shutdown.isUnderWay;
  }

  /** Listens on the port of the API. The keeper's snapshot may be handled when the promise is fulfilled. */
  listen(): Promise<void> | undefined {
    return this.#api.listen();
  }

  receive(message: Exclude<FromKeeper, { readonly t: "refused" | "aside" | "keep" | "drop" }>): void {
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

  /** Specification of a process or of one of its slots. */
  spec(slot: string): ProcessSpec {
    return this.#activeConfig.spec(slot);
  }

  #onLogger(message: FromLogger): void {
    if (message.t === "stored") this.#storedLog.onStored(message);
    else if (message.t === "flushed") this.#storedLog.onFlushed(message);
    else this.#log.relay(message);
  }

  #onSnapshot(snapshot: ServiceSnapshot): void {
    const { notes, running, lineage } = snapshot;
    const { metrics, incidents, events } = this.#reporting;
    this.#notes.load(notes, lineage);
    const { config, gone } = withGoneFiles(this.scaler.resume(this.reloads.withNotedProfile(this.config)), snapshot);
    for (const file of gone)
      this.#log.warn(`${file} is gone, which the configuration includes; its processes go on until "procman reload"`);
    this.#activeConfig.sendStyle();
    this.#spawner.load(snapshot);
    this.#lasting.load(config.processes);
    const recovered = recover(snapshot, config, { notes: this.#notes, lasting: this.#lasting, log: this.#log });
    this.#activeConfig.resume(recovered.previous);
    restore(recovered, config, {
      supervisor: this.supervisor,
      spawner: this.#spawner,
      link: this.#link,
      log: this.#log,
      spec: (id) => this.spec(id),
    });
    for (const subsystem of this.#subsystems) subsystem.resume?.();
    if (!this.#shutdown.isUnderWay) {
      this.reloads.recover(config);
      this.#shutdown.checkExitWith();
    }
    this.#spawner.deliverBuffered();
    incidents.recover();
    events.publishServiceState();
    metrics.start();
    for (const { slot, run, captured } of running) if (!captured) this.#activeConfig.route(slot, run);
    this.#link.flush();
    // At a first start no client connects before the first processes run; otherwise clients may be waiting.
    this.#api.start(Object.keys(notes).length === 0 && running.length === 0, (problem) => {
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

  #newReporting(ends: EndOptions = {}): Reporting {
    const lastLines = new LastLines(this.config.stateDir);
    return newReporting({
      config: () => this.config,
      markers: this.#markers,
      supervisor: () => this.supervisor,
      spec: (slot) => this.spec(slot),
      notes: this.#notes,
      log: this.#log,
      report: (problem) => this.#log.warn(problem),
      noRestartBy: (spec) => noRestartBy(ends, spec),
      logProblemOf: (spec) => this.#log.problemOf(spec),
      lastLines: (query) => lastLines.of(query),
      withBalancer: (record) => this.#balancing.decorate(record),
      isLimited: (spec) => limitOf(spec) !== undefined,
      status: () => this.#status(),
    });
  }

  #newStoredLog(stateDir: string, log: ServiceLog): StoredLog {
    return new StoredLog({ stateDir, log, find: (id) => this.#activeConfig.find(id) });
  }

  #newLasting(stateDir: string, log: ServiceLog): LastingState {
    return new LastingState(stateDir, {
      report: (problem) => log.warn(problem),
      clusterOf: (id) => (this.#activeConfig.has(id) ? this.spec(id).cluster?.id : undefined),
      specs: () => this.config.processes,
    });
  }

  #runningInstances(cluster: string): readonly InstancePort[] {
    return this.config.processes.flatMap((spec) => {
      const [state] = spec.cluster?.id === cluster ? this.supervisor.statesOf(spec.id) : [];
      return isRunning(state) ? [{ spec, pid: state.pid }] : [];
    });
  }

  #newSpawner(ports: Omit<HookPorts, "commit" | "api">): readonly [HookRunner, KeeperSpawner] {
    const api: HookPorts["api"] = (id) => this.#api.accessOf(id);
    const hooks = new HookRunner({ ...ports, commit: () => this.#link.commit(), api });
    const spawner = spawnerOf(this.#link, this.#sweeper, {
      ...ports,
      hooks,
      markers: this.#markers,
      api,
      siblings: ({ id, cluster }) =>
        cluster === undefined ? [] : this.#runningInstances(cluster.id).filter(({ spec }) => spec.id !== id),
      remedy: this.#sockets.remedy,
      defersStop: (stop) => this.#balancing.defersStop(stop),
    });
    return [hooks, spawner];
  }

  #newSupervisor(): Supervisor {
    const { bus, stats } = this.#reporting;
    return new Supervisor({
      clock: systemClock,
      spawner: this.#spawner,
      lasting: this.#lasting,
      publish: (transition) => {
        const spec = this.spec(transition.slot);
        bus.transitions.publish({
          id: spec.id,
          spec,
          transition,
          line: messageFor(transition, stats.messageContext(spec.id)),
        });
        if (isQuiet(transition.to)) this.#shutdown.checkExitWith();
      },
      notice: (id, notice) =>
        bus.events.publish({ id, event: notice, line: messageForEvent(notice), request: requestOf(notice) }),
      removed: (id) => {
        bus.removed.publish(id);
        this.#lasting.forget(id);
        this.#activeConfig.drop(id);
      },
      hasPendingRestart: (id) => this.operations.isPending(id),
    });
  }

  #newApi(config: Config, sockets: HeldSockets = new Map()): ApiService {
    const control = this.control;
    const log = this.#log;
    const link = this.#link;
    const onAddressChanged = (): void => this.#spawner.refreshOrders();
    const hasProcess = (id: string): boolean => this.#activeConfig.has(id);
    const profile = (): string | undefined => this.config.profile;
    return new ApiService({
      config,
      profile,
      control,
      log,
      link,
      sockets,
      hasProcess,
      keeper: process.ppid,
      onAddressChanged,
    });
  }

  #newShutdown(ends: EndOptions = {}): Shutdown {
    const { incidents, events } = this.#reporting;
    const { supervisor, operations } = this;
    return new Shutdown({
      supervisor,
      operations,
      link: this.#link,
      notes: this.#notes,
      log: this.#log,
      exitWith: exitWithOf(ends, (id) => this.spec(id)),
      onBegin: (why) => {
        incidents.onShutdown(why);
        events.publishServiceState();
        for (const subsystem of this.#subsystems) subsystem.end?.();
      },
      onStopped: async () => {
        for (const subsystem of this.#subsystems) await subsystem.stopped?.();
      },
    });
  }

  #newControl(): (caller: Caller) => Control {
    const { supervisor, actions, reloads, scaler } = this;
    return controlFactory({
      ...this.#reporting,
      supervisor,
      actions,
      reloads,
      scaler,
      log: this.#log,
      sendSignal: ({ slot, run }, signal, to) => this.#spawner.signal(slot, run, signal, to),
      logAccess: this.#storedLog,
      spec: (id) => this.spec(id),
      specs: () => this.#activeConfig.specs,
      configFile: () => this.config.file,
      status: (processes) => this.#status(processes),
      terminate: (why) => this.terminate(why),
      commit: () => this.#link.commit(),
    });
  }

  /** The ports that all operations share. */
  #operationPorts() {
    const { stats, incidents, events, records } = this.#reporting;
    const { supervisor, operations } = this;
    const balancing = this.#balancing;
    const activeConfig = this.#activeConfig;
    const link = this.#link;
    return {
      supervisor,
      operations,
      balancing,
      activeConfig,
      notes: this.#notes,
      log: this.#log,
      commit: () => link.commit(),
      spec: (slot: string) => activeConfig.spec(slot),
      recordRequester: (id: string, caller: Caller) => incidents.recordRequester(id, caller),
      messageContext: (id: string) => stats.messageContext(id),
      publishState: (id: string, text: string) => events.publishState(id, text),
      reason: (process: Process) => records.of(process).reason,
      lastEnd: (id: string) => incidents.lastEnd(id),
      setClusterDisabled: (cluster: string, isDisabled: boolean) =>
        this.#lasting.setClusterDisabled(cluster, isDisabled),
      connectionProblem: (id: string) => balancing.connectionProblem(id),
      checkSocket: (spec: ProcessSpec) => this.#sockets.checkRestart(spec),
    } as const;
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
};

/** Tells the balancer which instances may get connections, and adds its data to their records. */
import { DEFAULT_PORT_VARIABLE, ownPort } from "../../config/cluster-variables.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { isRunning as hasRunningStatus } from "../../contract/status-sets.ts";
import type { BackendState, BalancerIdentity, Front, FrontReport, FrontSpec } from "../../ipc/balancer-protocol.ts";
import type { InheritedSockets } from "../../os/inherited-sockets.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { hasLeader, isBeingStopped, isIdle, isRunning, waitsForDependents } from "../../supervisor/verdict.ts";
import type { PendingStop } from "../recovery/notes.ts";
import type { ServiceEvents } from "../reporting/service-events.ts";
import type { Services } from "../services.ts";
import { type InstancePort, PortConflicts } from "../spawn/port-conflicts.ts";
import { readsHeaders } from "../spawn/spawn-request.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";
import type { Subsystem } from "../subsystem.ts";
import { BalancerClient } from "./balancer-client.ts";
import {
  frontendMessages,
  withBackend,
  withFrontend,
  withProblem,
  withSharedSocket,
  withSleep,
  withWaker,
} from "./balancer-records.ts";
import { ConnectionDrain } from "./drain.ts";
import { ReportedBusy } from "./reported-busy.ts";
import { Sharing } from "./sharing.ts";
import { clientsIn, Sleep, sleepFrontOf } from "./sleep.ts";
import { Standby, withoutClients } from "./standby.ts";
import { type UnreachableInstance, UnreachableInstances } from "./unreachable-instances.ts";

type BalancingParts = {
  readonly events: Pick<ServiceEvents, "publishState">;
  readonly spawner: Pick<KeeperSpawner, "sendStop">;
  /** The sockets that the keeper has passed to this service. */
  readonly sockets: InheritedSockets | undefined;
};

export class Balancing implements Subsystem {
  /** Instances that run without clients while a deployment is watched. */
  readonly standby: Standby;
  readonly sharing: Sharing;
  readonly #services: Pick<Services, "link" | "log" | "specs" | "supervisor" | "markers">;
  readonly #events: Pick<ServiceEvents, "publishState">;
  #balancer: BalancerClient | undefined;
  #reports = new Map<string, FrontReport>();
  #isChanged = false;
  #isClosed = false;
  #isRetired = false;
  readonly #unreachable: UnreachableInstances;
  readonly #portConflicts: PortConflicts;
  readonly #drain: ConnectionDrain;
  readonly #busy: ReportedBusy;
  readonly #sleep: Sleep;
  readonly #watchers = new Set<() => void>();

  constructor(services: Services, { events, spawner, sockets }: BalancingParts) {
    const { log } = services;
    this.#services = services;
    this.#events = events;
    this.standby = new Standby(services, () => this.#scheduleUpdate());
    this.#listen(services);
    this.sharing = new Sharing(services, {
      sockets,
      unreachable: () => this.#unreachable,
      isServing: (slot, state) => !this.#isClosed && this.#isServing(slot, state),
      sendStop: (stop) => spawner.sendStop(stop),
      onClient: () => this.#sleep.check(),
    });
    this.#drain = new ConnectionDrain(services, spawner, () => this.#balancer?.send());
    this.#unreachable = new UnreachableInstances(
      () => [...this.#findUnreachable(), ...this.sharing.instances()],
      (id, line) => {
        log.write(id, line);
        setImmediate(() => this.sharing.stranded.check());
      },
      () => this.#notifyWatchers(),
    );
    this.#busy = new ReportedBusy(services);
    this.#sleep = new Sleep(services, {
      clients: (sleeper, isDormant) => {
        if (sleeper.share !== undefined) return this.sharing.clientsOf(sleeper, isDormant);
        const report = this.identity === undefined ? undefined : this.#reports.get(sleeper.front.id);
        return report && clientsIn(report);
      },
      turnAway: (socket) => this.sharing.turnAway(socket),
      retain: (sockets) => this.sharing.queues.retain(sockets),
      send: async () => this.#balancer?.send(),
      changed: () => this.#scheduleUpdate(),
      saysBusy: this.#busy.has,
    });
    this.#portConflicts = new PortConflicts(
      (id) => this.#instancePort(id),
      log,
      () => {
        this.#scheduleUpdate();
        this.#notifyWatchers();
      },
    );
  }

  #listen({ bus, specs }: Services): void {
    // A block changes whether a client may wake it.
    bus.events.listen(({ id }) => {
      if (specs.find(id)?.idle !== undefined) this.#scheduleUpdate();
    });
    bus.transitions.listen(({ id, spec: { front, share } }) => {
      if (front !== undefined || share !== undefined || this.#isReplaced(id)) this.#scheduleUpdate();
    });
  }

  get #specs(): readonly ProcessSpec[] {
    return this.#services.specs.config.processes;
  }

  /** Whether it takes over this stop: an instance behind the balancer is asked to end when it gets no new connections. */
  defersStop(stop: PendingStop): boolean {
    if (this.#balancer === undefined || this.#services.specs.of(stop.slot).front === undefined)
      return this.sharing.defersStop(stop);
    this.#drain.add(stop);
    return true;
  }

  /** Identity of the balancer; undefined: none is wanted, or none answers. */
  get identity(): BalancerIdentity | undefined {
    return this.#balancer?.identity;
  }

  /** Resumes the pending stops of a service that was killed, and its balancer, which the present configuration may end. */
  resume(): void {
    this.standby.resume();
    this.#busy.resume();
    this.#drain.resume();
    this.apply();
  }

  get #isWanted(): boolean {
    return this.#specs.some(({ front }) => front !== undefined);
  }

  apply(): void {
    const isWanted = this.#isWanted;
    if (isWanted === (this.#balancer !== undefined)) return this.#scheduleUpdate();
    this.#services.link.send({ t: "balancer", wanted: isWanted });
    if (isWanted) {
      const { stateDir } = this.#services.specs.config;
      this.#balancer = new BalancerClient({
        stateDir,
        fronts: () => this.#fronts(),
        onReport: (reports) => this.#onReport(reports),
      });
      return;
    }
    void this.#balancer?.send();
    this.#balancer?.close();
    this.#balancer = undefined;
    this.#reports.clear();
  }

  /** Sends the states of all instances, once for all changes of a turn. */
  #scheduleUpdate(): void {
    if (this.#isChanged || this.#isRetired) return;
    this.#isChanged = true;
    setImmediate(() => {
      this.#isChanged = false;
      void this.#balancer?.send();
      this.#unreachable.check();
      this.#sleep.check();
    });
  }

  /** The shutdown has begun: new clients are refused. */
  end(): void {
    this.#isClosed = true;
    this.#unreachable.stop();
    this.sharing.stop();
    this.#sleep.stop();
    this.#scheduleUpdate();
  }

  retire(): void {
    this.#isRetired = true;
    this.#unreachable.stop();
    this.#sleep.stop();
    this.sharing.stop();
    this.#portConflicts.stop();
    this.#balancer?.close();
    this.#balancer = undefined;
  }

  /** Whether this instance gets connections: from the balancer, or as it was seen to accept from the shared socket. */
  accepts(id: string): boolean {
    const { front, share } = this.#services.specs.configured(id) ?? {};
    const [state] = this.#services.supervisor.statesOf(id);
    if (share !== undefined) return isRunning(state) && this.#unreachable.hasAccepted(id, state.pid);
    if (front === undefined) return true;
    const report = this.#reports.get(front.id);
    return (
      report?.backends.find((backend) => backend.id === id)?.accepting === true &&
      this.#portConflicts.of(id) === undefined
    );
  }

  /** Calls after each change of which instances get connections, until the returned function is called. */
  watch(call: () => void): () => void {
    this.#watchers.add(call);
    return () => this.#watchers.delete(call);
  }

  /** Why it gets no connections; undefined: no problem is known. */
  connectionProblem(id: string): string | undefined {
    if (this.standby.has(id)) return "stands by without clients until the deployment is over";
    return this.#portConflicts.of(id) ?? this.#unreachable.of(id);
  }

  /** The record with the data of the load balancer. */
  decorate(record: ProcessRecord): ProcessRecord {
    return this.#withAddress(record.type === "cluster" ? this.#withoutClients(record) : record);
  }

  /** A cluster is not ready when each instance that runs gets no connections. */
  #withoutClients(record: ProcessRecord): ProcessRecord {
    const running = (record.instances ?? []).filter(hasRunningStatus);
    const isServed = running.some(({ id }) => this.connectionProblem(id) === undefined);
    if (record.ready !== true || isServed) return record;
    return { ...record, ready: false, reason: `${record.reason}, none of them accepts connections` };
  }

  #withAddress(record: ProcessRecord): ProcessRecord {
    const isCluster = record.type === "cluster";
    const spec = this.#specOf(record);
    const { share, front } = spec ?? {};
    if (spec !== undefined && share !== undefined)
      return this.#withSleep(isCluster ? withSharedSocket(record, share) : this.#withAccepting(record), spec);
    if (isCluster && front !== undefined && this.#balancer?.isAnswered === false)
      return { ...record, reason: `${record.reason}; the load balancer does not answer: its standard error says why` };
    if (front === undefined) return record;
    const report = this.#reports.get(front.id);
    const known = this.#withSleep(record, spec);
    if (report === undefined) return known;
    const served = record.id === front.id ? withFrontend(known, front, report) : known;
    return isCluster ? served : this.#withBackend(served, report);
  }

  #withSleep(record: ProcessRecord, spec: ProcessSpec | undefined): ProcessRecord {
    const front = spec && sleepFrontOf(spec);
    if (front === undefined) return record;
    return record.id === front.id ? withSleep(record, front, this.#sleep.recordOf(front.id)) : withWaker(record, front);
  }

  #withBackend(record: ProcessRecord, { backends }: FrontReport): ProcessRecord {
    const backend = backends.find(({ id }) => id === record.id);
    const port = ownPort(this.#services.specs.of(record.id)) ?? 0;
    return backend === undefined
      ? record
      : withBackend(record, backend, { port, connectionProblem: this.connectionProblem(record.id) });
  }

  /** Adds to the record of an instance with a shared socket whether it accepts connections. */
  #withAccepting(record: ProcessRecord): ProcessRecord {
    const known = withProblem(record, this.#unreachable.of(record.id));
    return hasRunningStatus(record) ? { ...known, accepting: this.accepts(record.id) } : known;
  }

  /** Specification of the process, or of any configured instance of the cluster. Called for each record of each request. */
  #specOf({ id, instances }: ProcessRecord): ProcessSpec | undefined {
    for (const each of instances ?? [{ id }]) {
      const spec = this.#services.specs.configured(each.id);
      if (spec !== undefined) return spec;
    }
    return undefined;
  }

  #fronts(): readonly Front[] {
    const fronts = new Map<string, FrontSpec & { readonly backends: Front["backends"][number][] }>();
    for (const spec of this.#isClosed ? [] : this.#specs) {
      const { id, front } = spec;
      const port = ownPort(spec);
      if (front === undefined || port === undefined) continue;
      const known = fronts.get(front.id) ?? { ...front, backends: [] };
      known.backends.push({
        id,
        port,
        state: this.#backendState(id),
        ...this.#backendProcess(id),
        ...this.#proxyToken(spec),
      });
      fronts.set(front.id, known);
    }
    // Instances being removed get no new connections and keep the ones they have.
    for (const spec of this.#services.specs.removing) {
      const { id, front } = spec;
      const port = ownPort(spec);
      const state = this.#stateOf(id) === "down" ? "down" : "draining";
      if (port !== undefined) fronts.get(front?.id ?? "")?.backends.push({ id, port, state });
    }
    const shared = new Set(this.#specs.map(({ share }) => share?.port));
    return [...fronts.values()].map((front) => this.#withAvailability(front, shared));
  }

  #withAvailability(front: Front, shared: ReadonlySet<number | undefined>): Front {
    if (shared.has(front.port) || this.#isServedBySingle(front.id)) return { ...front, closed: true };
    if (this.#sleep.isAsleep(front.id)) return { ...front, backends: front.backends.map(withoutClients), asleep: true };
    const isOpen = front.backends.some(({ id }) => isExpected(this.#services.supervisor.statesOf(id)));
    return { ...front, backends: this.standby.serving(front.backends), ...(!isOpen && { closed: true }) };
  }

  /** A process that is being removed, as it has become a cluster. */
  #isReplaced(id: string): boolean {
    const { removing } = this.#services.specs;
    return removing.some((spec) => spec.id === id) && this.#specs.some(({ front }) => front?.id === id);
  }

  /** Whether the process that has become this cluster has not ended yet: it may have the port. */
  #isServedBySingle(id: string): boolean {
    const { specs, supervisor } = this.#services;
    const single = specs.removing.find((spec) => spec.id === id);
    return single !== undefined && single.front === undefined && !supervisor.statesOf(id).every(isIdle);
  }

  /** Publishes changes for instances that are up; others get no connections anyway. */
  #publishBackends({ id: front, backends }: FrontReport, before: FrontReport | undefined): void {
    const accepted = new Map(before?.backends.map(({ id, accepting }) => [id, accepting]));
    const known = new Set(this.#specs.filter((spec) => spec.front?.id === front).map(({ id }) => id));
    for (const { id, accepting } of backends) {
      if (!known.has(id) || accepting === (accepted.get(id) ?? false)) continue;
      if (this.#stateOf(id) !== "up" || this.standby.has(id)) continue;
      if (accepting && this.#portConflicts.check(id) !== undefined) continue;
      this.#events.publishState(id, accepting ? "accepts connections" : "refuses connections; others get them");
    }
  }

  #stateOf(id: string): BackendState {
    const states = this.#services.supervisor.statesOf(id);
    if (states.some((state) => this.#isServing(id, state))) return "up";
    // An instance that is not ready or not healthy keeps its connections.
    return states.some(hasLeader) ? "draining" : "down";
  }

  /** Whether it may get connections. While no other instance is healthy, an unhealthy one may. */
  #isServing(id: string, state: SlotState): boolean {
    // It waits for its dependents to end; they may still need it.
    if (waitsForDependents(state)) return true;
    return (
      isRunning(state) && state.ready && (state.healthy !== false || this.#services.supervisor.areOthersUnhealthy(id))
    );
  }

  /** An instance whose port another program has gets no connections. */
  #backendState(id: string): BackendState {
    const state = this.#stateOf(id);
    return state === "up" && this.#portConflicts.of(id) !== undefined ? "draining" : state;
  }

  #backendProcess(id: string): { readonly pid?: number; readonly uid?: number } {
    const [state] = this.#services.supervisor.statesOf(id);
    const { user } = this.#services.specs.of(id);
    return {
      ...(state !== undefined && "pid" in state ? { pid: state.pid } : {}),
      ...(user === undefined ? {} : { uid: user.uid }),
    };
  }

  #proxyToken(spec: ProcessSpec): { readonly proxyToken?: string } {
    return readsHeaders(spec) ? { proxyToken: this.#services.markers.proxyToken(spec.id) } : {};
  }

  #instancePort(id: string): InstancePort | undefined {
    const [state] = this.#services.supervisor.statesOf(id);
    return isRunning(state) ? { spec: this.#services.specs.of(id), pid: state.pid } : undefined;
  }

  #onReport(reports: readonly FrontReport[]): void {
    const before = this.#reports;
    this.#reports = new Map(reports.map((report) => [report.id, report]));
    for (const report of reports) this.#publishBackends(report, before.get(report.id));
    const known = new Set(this.#specs.map(({ id }) => id));
    for (const { backends } of reports)
      for (const { id, foreign } of backends) if (foreign === true && known.has(id)) this.#portConflicts.check(id);
    for (const report of reports) this.#tell(report, before.get(report.id));
    this.#sleep.check();
    this.#unreachable.check();
    this.#notifyWatchers();
  }

  #tell(report: FrontReport, before: FrontReport | undefined): void {
    const front = this.#specs.find((spec) => spec.front?.id === report.id)?.front;
    const lines = front === undefined ? [] : frontendMessages(front, report, before);
    for (const line of lines) this.#services.log.write(report.id, line);
    const rejected = report.rejected - (before?.rejected ?? 0);
    if (rejected > 0) this.#sleep.turnedAway(report.id, rejected);
  }

  #notifyWatchers(): void {
    for (const call of this.#watchers) call();
  }

  /** Instances that run, are ready and healthy, but get no connections. */
  #findUnreachable(): readonly UnreachableInstance[] {
    return this.#specs.flatMap((spec) => {
      const { id, front, cluster } = spec;
      const [state] = front === undefined || this.#isClosed ? [] : this.#services.supervisor.statesOf(id);
      if (
        !isRunning(state) ||
        !this.#isServing(id, state) ||
        this.accepts(id) ||
        this.standby.has(id) ||
        this.#portConflicts.of(id) !== undefined
      )
        return [];
      const variable = cluster === undefined && { variable: DEFAULT_PORT_VARIABLE };
      return [{ id, pid: state.pid, port: ownPort(spec) ?? 0, ...variable }];
    });
  }
}

/** Running or about to run, so clients may be queued for it. */
function isExpected(states: readonly SlotState[]): boolean {
  return states.some((state) => !isIdle(state) && (!isBeingStopped(state) || waitsForDependents(state)));
}

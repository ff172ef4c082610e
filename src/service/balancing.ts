/** Tells the balancer which instances may get connections, and shows what it says of them. */
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { BackendState, Front, FrontReport, FrontSpec } from "../contract/balancer-protocol.ts";
import type { ProcessRecord } from "../contract/records.ts";
import type { Link } from "../runtime/link.ts";
import type { Spawner } from "../supervisor/ports.ts";
import type { Instance } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { BalancerLink } from "./balancer-link.ts";
import { clusterShown, instanceShown, linesOf, sharedShown } from "./balancer-records.ts";
import { Draining } from "./draining.ts";
import type { Line } from "./narrator.ts";
import type { Part } from "./part.ts";
import { Silences, type Silent } from "./silences.ts";
import { type Guarded, Strangers } from "./strangers.ts";

/** Whose instances these are. */
export type Balanced = {
  readonly config: Config;
  /** No longer in the configuration, and not over yet. */
  readonly leaving: readonly ProcessSpec[];
  readonly supervisor: Supervisor;
  readonly spec: (slot: string) => ProcessSpec;
  /** Hears who accepts connections from now on, or doesn't. */
  readonly observatory: { readonly tell: (id: string, text: string) => void };
};

export class Balancing implements Part {
  readonly #balanced: Balanced;
  readonly #link: Link;
  readonly #say: (id: string, line: Line) => void;
  #balancer: BalancerLink | undefined;
  #reports = new Map<string, FrontReport>();
  #isChanged = false;
  #isClosed = false;
  readonly #silences: Silences;
  readonly #strangers: Strangers;
  readonly #draining: Draining;

  constructor(balanced: Balanced, link: Link, voice: { readonly say: (id: string, line: Line) => void }) {
    this.#balanced = balanced;
    this.#link = link;
    this.#say = (id, line) => voice.say(id, line);
    this.#draining = new Draining({
      told: () => this.#balancer?.send(),
      port: (slot) => balanced.spec(slot).cluster?.port,
      remember: (id, memory) => link.remember(id, memory),
    });
    this.#silences = new Silences(() => this.#silent(), this.#say);
    this.#strangers = new Strangers((id) => this.#guarded(id), { changed: () => this.changed(), say: this.#say });
  }

  get #specs(): readonly ProcessSpec[] {
    return this.#balanced.config.processes;
  }

  /** The spawner, but whoever has a front gets SIGTERM, or is told to finish, only when nobody new is sent to it any more. */
  guard(spawner: Spawner): Spawner {
    this.#draining.spawner = spawner;
    return {
      spawn: (slot, run, on) => spawner.spawn(slot, run, on),
      prepare: (slot, run, after) => spawner.prepare(slot, run, after),
      unprepare: (slot, run) => spawner.unprepare(slot, run),
      follow: (slot, run, on) => spawner.follow(slot, run, on),
      signal: (slot, run, signal) =>
        signal !== "SIGKILL" && this.#isServed(slot) ? this.#draining.add({ slot, run, signal }) : spawner.signal(slot, run, signal),
      drain: (slot, run) => (this.#isServed(slot) ? this.#draining.add({ slot, run, drain: true }) : spawner.drain(slot, run)),
      sweep: (slot, run, pid, signal) => spawner.sweep(slot, run, pid, signal),
      adopt: (slot, run, seen, on) => spawner.adopt(slot, run, seen, on),
      remember: (id, memory) => spawner.remember(id, memory),
      forget: (id) => spawner.forget(id),
    };
  }

  /** A service was killed while somebody waited for its SIGTERM. */
  resume(notes: Readonly<Record<string, string>>): void {
    this.#draining.resume(notes);
  }

  /** The configuration is another one. */
  apply(): void {
    const isWanted = this.#specs.some(({ front }) => front !== undefined);
    if (isWanted === (this.#balancer !== undefined)) return this.changed();
    this.#link.send({ t: "balancer", wanted: isWanted });
    if (isWanted) {
      const { stateDir } = this.#balanced.config;
      this.#balancer = new BalancerLink({ stateDir, fronts: () => this.#fronts(), onReport: (reports) => this.#onReport(reports) });
      return;
    }
    void this.#balancer?.send();
    this.#balancer?.close();
    this.#balancer = undefined;
    this.#reports.clear();
  }

  /** The state of an instance has changed. What one turn brings is told at once. */
  changed(): void {
    if (this.#balancer === undefined || this.#isChanged) return;
    this.#isChanged = true;
    setImmediate(() => {
      this.#isChanged = false;
      void this.#balancer?.send();
      this.#silences.look();
    });
  }

  /** Everything is about to be stopped: nobody new is served. */
  end(): void {
    this.#isClosed = true;
    this.#silences.stop();
    this.changed();
  }

  /** Another service tells the balancer from now on. */
  retire(): void {
    this.#silences.stop();
    this.#strangers.stop();
    this.#balancer?.close();
    this.#balancer = undefined;
  }

  /** It gets connections. */
  accepts(id: string): boolean {
    const { front } = this.#balanced.spec(id);
    const report = front === undefined ? undefined : this.#reports.get(front.id);
    return report?.backends.find((backend) => backend.id === id)?.accepting === true && this.#strangers.of(id) === undefined;
  }

  /** Why it gets none; undefined: nothing that we know of. */
  flawOf(id: string): string | undefined {
    return this.#strangers.of(id) ?? this.#silences.of(id);
  }

  shown(record: ProcessRecord): ProcessRecord {
    const isCluster = record.type === "cluster";
    const share = isCluster ? this.#specs.find(({ cluster }) => cluster?.id === record.id)?.share : undefined;
    if (share !== undefined) return sharedShown(record, share);
    const clusterId = isCluster ? record.id : record.cluster;
    const report = clusterId === undefined ? undefined : this.#reports.get(clusterId);
    if (report === undefined) return record;
    const front = this.#specs.find((spec) => spec.front?.id === clusterId)?.front;
    if (isCluster) return front === undefined ? record : clusterShown(record, front, report);
    const backend = report.backends.find(({ id }) => id === record.id);
    const port = this.#balanced.spec(record.id).cluster?.port ?? 0;
    return backend === undefined ? record : instanceShown(record, backend, { port, silence: this.flawOf(record.id) });
  }

  #isServed(slot: string): boolean {
    return this.#balancer !== undefined && this.#balanced.spec(slot).front !== undefined;
  }

  #fronts(): readonly Front[] {
    const fronts = new Map<string, FrontSpec & { readonly backends: Front["backends"][number][] }>();
    for (const { id, front, cluster } of this.#isClosed ? [] : this.#specs) {
      if (front === undefined || cluster?.port === undefined) continue;
      const known = fronts.get(front.id) ?? { ...front, backends: [] };
      known.backends.push({ id, port: cluster.port, state: this.#stateOf(id) });
      fronts.set(front.id, known);
    }
    // Nobody new is sent there, and who is there stays until its end.
    for (const { id, front, cluster } of this.#balanced.leaving) {
      const state = stateOf(this.#balanced.supervisor.statesOf(id)) === "down" ? "down" : "draining";
      if (cluster?.port !== undefined) fronts.get(front?.id ?? "")?.backends.push({ id, port: cluster.port, state });
    }
    return [...fronts.values()];
  }

  /** Of those that serve: who starts or stops gets no connections anyway. */
  #tellBackends({ id: front, backends }: FrontReport, before: FrontReport | undefined): void {
    const accepted = new Map(before?.backends.map(({ id, accepting }) => [id, accepting]));
    const known = new Set(this.#specs.filter((spec) => spec.front?.id === front).map(({ id }) => id));
    for (const { id, accepting } of backends) {
      if (!known.has(id) || accepting === (accepted.get(id) ?? false) || stateOf(this.#balanced.supervisor.statesOf(id)) !== "up") continue;
      if (accepting && this.#strangers.check(id) !== undefined) continue;
      this.#balanced.observatory.tell(id, accepting ? "accepts connections" : "refuses connections; others get them");
    }
  }

  /** Nobody is sent to a program that has the port of an instance. */
  #stateOf(id: string): BackendState {
    const state = stateOf(this.#balanced.supervisor.statesOf(id));
    return state === "up" && this.#strangers.of(id) !== undefined ? "draining" : state;
  }

  #guarded(id: string): Guarded | undefined {
    const [state] = this.#balanced.supervisor.statesOf(id);
    return state?.status === "running" ? { spec: this.#balanced.spec(id), pid: state.pid } : undefined;
  }

  #onReport(reports: readonly FrontReport[]): void {
    const before = this.#reports;
    this.#reports = new Map(reports.map((report) => [report.id, report]));
    for (const report of reports) this.#tellBackends(report, before.get(report.id));
    for (const report of reports) {
      const front = this.#specs.find((spec) => spec.front?.id === report.id)?.front;
      const lines = front === undefined ? [] : linesOf(front, report, before.get(report.id));
      for (const line of lines) this.#say(report.id, line);
    }
    this.#silences.look();
  }

  /** They run, as far as is known well, and get no connections. */
  #silent(): readonly Silent[] {
    return this.#specs.flatMap(({ id, front, cluster }) => {
      const [state] = front === undefined || this.#isClosed ? [] : this.#balanced.supervisor.statesOf(id);
      if (state?.status !== "running" || !isServing(state) || this.accepts(id) || this.#strangers.of(id) !== undefined) return [];
      return [{ id, pid: state.pid, port: cluster?.port ?? 0 }];
    });
  }
}

function stateOf(states: readonly Instance[]): BackendState {
  if (states.some(isServing)) return "up";
  // One that is not ready, or not well, keeps the connections that it has.
  return states.some((state) => "pid" in state && !("ending" in state)) ? "draining" : "down";
}

/** It may get connections. */
function isServing(state: Instance): boolean {
  // Those that depend on it end first, and may need it for that.
  if (state.status === "stopping") return state.phase === "held";
  return state.status === "running" && state.ready && state.healthy !== false;
}

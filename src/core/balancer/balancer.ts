/** The balancer's first process: opens the ports, and serves them together with the worker processes. */
import { setTimeout as sleep } from "node:timers/promises";
import type { BackendReport, Front, FrontReport } from "../ipc/balancer-protocol.ts";
import { printError } from "../os/error-output.ts";
import type { ConnectionCounts } from "./backends.ts";
import { PortListener } from "./listener.ts";
import { Rebalancer } from "./rebalancer.ts";
import type { Tcp, TcpServer } from "./tcp-handle.ts";
import type { IdleTimeouts, Worker } from "./worker.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Time for connections to end once no port is served any more. */
const CLOSE_MS = 5_000;
const CLOSE_POLL_MS = 20;
/** Processes that measure from the same moment on report within this time. */
const GATHER_MS = 10;

/** Connections that a predecessor still has, by id of the front. */
export type HeldConnections = Readonly<Record<string, ConnectionCounts>>;

export type ListeningState = { readonly fronts: readonly Front[]; readonly servers: ReadonlyMap<string, TcpServer> };

export class Balancer {
  readonly #tcp: Tcp;
  readonly #worker: Worker;
  readonly #others: readonly WorkerProcess[];
  readonly #changed: () => void;
  readonly #rebalancer: Rebalancer;
  readonly #listeners = new Map<string, PortListener>();
  #fronts: readonly Front[] = [];
  /** undefined: there is no predecessor. */
  #held: HeldConnections | undefined;
  /** Clients that wait there and wake instances, by id of the front. */
  #heldWaking: Readonly<Record<string, number>> = {};
  #gathering: NodeJS.Timeout | undefined;
  /** Gets the idle timeouts that are set here: they apply to the connections that a predecessor still has, too. */
  passIdleTimeouts: ((timeouts: IdleTimeouts) => void) | undefined;

  /** `changed` is called when the report has changed. */
  constructor(tcp: Tcp, worker: Worker, others: readonly WorkerProcess[], changed: () => void) {
    this.#tcp = tcp;
    this.#worker = worker;
    this.#others = others;
    this.#changed = changed;
    this.#rebalancer = new Rebalancer(worker, others);
  }

  /** Connections of the predecessor, which ends with them; undefined: it has ended. */
  setHeld(held: HeldConnections | undefined, waking: Readonly<Record<string, number>> = {}): void {
    this.#held = held;
    this.#heldWaking = waking;
    this.#countElsewhere();
    this.#changed();
  }

  /** Set by the successor, for the connections that stay here. */
  setIdleTimeouts(timeouts: IdleTimeouts): void {
    for (const each of [this.#worker, ...this.#others]) each.setIdleTimeouts(timeouts);
    this.passIdleTimeouts?.(timeouts);
  }

  /** What a successor counts as held. */
  get held(): HeldConnections {
    const counts = this.report.map(
      ({ id, backends }) => [id, Object.fromEntries(backends.map((each) => [each.id, each.connections]))] as const,
    );
    return Object.fromEntries(counts);
  }

  /** What a successor counts as waiting there. */
  get waking(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.report.flatMap(({ id, waking = 0 }) => (waking > 0 ? [[id, waking] as const] : [])));
  }

  /** Call when a process has reported. */
  onReport(): void {
    this.#countElsewhere();
    this.#rebalance();
  }

  /** Waits briefly for the figures of the others. */
  #rebalance(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#rebalancer.check();
    }, GATHER_MS);
  }

  get report(): readonly FrontReport[] {
    const reports = [
      this.#worker.reports,
      ...this.#others.filter(({ isGone }) => !isGone).map((other) => other.reports),
    ];
    return mergeReports(reports).map((own) => {
      const front = withHeld(own, this.#held?.[own.id] ?? {}, this.#heldWaking[own.id]);
      const problem = this.#listeners.get(front.id)?.problem;
      return problem === undefined ? front : { ...front, problem };
    });
  }

  /** What a successor takes over. */
  get listeningState(): ListeningState {
    const servers = this.#fronts.flatMap(({ id }) => {
      const server = this.#worker.server(id);
      return server === undefined ? [] : [[id, server] as const];
    });
    return { fronts: this.#fronts, servers: new Map(servers) };
  }

  /** Resolves when all processes have applied it and the ports are open, or can't be. `inherited`: listening sockets of the predecessor. */
  async apply(fronts: readonly Front[], inherited?: ListeningState["servers"]): Promise<void> {
    this.#fronts = fronts;
    this.passIdleTimeouts?.(Object.fromEntries(fronts.map(({ id, idleMs }) => [id, idleMs])));
    const open = fronts.filter(({ closed }) => closed !== true);
    const served = [...this.#listeners].filter(([id, listener]) =>
      open.some((front) => front.id === id && listener.serves(front)),
    );
    const moved = [...this.#listeners].filter(([id, { port }]) =>
      open.some((front) => front.id === id && front.port === port),
    );
    const keeping = new Set([...served, ...moved].map(([id]) => id));
    for (const id of [...this.#listeners.keys()]) if (!keeping.has(id)) this.#close(id);
    for (const { id } of fronts) this.#share(id);
    for (const [id, listener] of moved)
      if (!served.some(([each]) => each === id)) await this.#rebind(id, listener, fronts);
    const applied = [this.#worker, ...this.#others].map((each) => each.apply(fronts));
    this.#countElsewhere();
    for (const front of open) if (!this.#listeners.has(front.id)) this.#open(front, inherited?.get(front.id));
    const attempts = [...this.#listeners.values()].map(({ attempted }) => attempted);
    await Promise.all([...applied, ...attempts]);
  }

  /** Closes the ports. Resolves when the last connection has ended, or after `CLOSE_MS`. */
  async close(): Promise<void> {
    this.#held = undefined;
    await this.#stop("close");
    await this.#drained(() => true);
  }

  /**
   * The successor accepts clients now. Resolves when the last connection here and in the predecessor, of which the
   * successor knows only by this balancer, has ended; once `isOver`, at most `CLOSE_MS` later.
   */
  async retire(isOver: () => boolean): Promise<void> {
    await this.#stop("retire");
    await this.#drained(isOver);
  }

  async #stop(how: "close" | "retire"): Promise<void> {
    await this.#rebalancer.stop();
    for (const id of [...this.#listeners.keys()]) this.#close(id);
    this.#worker[how]();
    await Promise.all(this.#others.map((other) => other.stop(how)));
  }

  async #drained(isOver: () => boolean): Promise<void> {
    let end = Number.POSITIVE_INFINITY;
    for (; (this.#clients > 0 || this.#held !== undefined) && performance.now() < end; await sleep(CLOSE_POLL_MS))
      if (end === Number.POSITIVE_INFINITY && isOver()) end = performance.now() + CLOSE_MS;
    const left = this.#clients;
    if (left > 0)
      printError(
        `the load balancer ends; ${left === 1 ? "1 connection" : `${left} connections`} did not end within ${CLOSE_MS / 1_000} s, and ${left === 1 ? "is" : "are"} closed`,
        "warn",
      );
    await Promise.all(this.#others.map((other) => other.end()));
  }

  get #clients(): number {
    return this.#others.reduce((sum, { clients }) => sum + clients, this.#worker.clients);
  }

  /** Another address with the same port: no process may have the former socket when the first one binds the new one, at once. */
  async #rebind(id: string, listener: PortListener, fronts: readonly Front[]): Promise<void> {
    for (const other of this.#others) other.unlisten(id);
    await Promise.all(this.#others.map((other) => other.apply(fronts)));
    const front = this.#fronts.find((each) => each.id === id && each.closed !== true);
    if (this.#listeners.get(id) !== listener || front === undefined) return;
    this.#close(id);
    this.#open(front, undefined);
  }

  #open(front: Front, inherited: TcpServer | undefined): void {
    const { id } = front;
    const bound = (server: TcpServer): number => {
      const status = this.#worker.listen(id, server);
      if (status === 0) this.#share(id);
      return status;
    };
    this.#listeners.set(id, new PortListener(front, { tcp: this.#tcp, bound, changed: this.#changed, inherited }));
  }

  /** All processes accept clients; where connections are limited only the first does, as each process can only count its own. */
  #share(id: string): void {
    const server = this.#worker.server(id);
    if (server === undefined) return;
    const isShared = this.#fronts.find((front) => front.id === id)?.maxConnections === undefined;
    for (const other of this.#others) isShared ? other.listen(id, server) : other.unlisten(id);
  }

  #countElsewhere(): void {
    for (const { id, maxConnections } of this.#fronts)
      if (maxConnections === undefined) this.#shareHeld(id);
      else this.#worker.setElsewhere(id, this.#countedElsewhere(id));
  }

  /**
   * Each process counts an equal part of what the predecessor has, so that together they even it out. It doesn't count
   * the others' connections: known late, they would be evened out by all processes at a time, and back again.
   */
  #shareHeld(id: string): void {
    const processes = [this.#worker, ...this.#others];
    const held = Object.entries(this.#held?.[id] ?? {}).filter(([, count]) => count > 0);
    const part = Object.fromEntries(held.map(([backend, count]) => [backend, count / processes.length]));
    for (const each of processes) each.setElsewhere(id, part);
  }

  /** Only the first process accepts clients of a front with a limit; others may still have connections from before. */
  #countedElsewhere(id: string): ConnectionCounts {
    const counts: Record<string, number> = { ...this.#held?.[id] };
    for (const { reports } of this.#others)
      for (const { id: backend, connections } of reports.find((report) => report.id === id)?.backends ?? [])
        counts[backend] = (counts[backend] ?? 0) + connections;
    return counts;
  }

  #close(id: string): void {
    this.#listeners.get(id)?.close();
    this.#listeners.delete(id);
    this.#worker.unlisten(id);
    for (const other of this.#others) other.unlisten(id);
  }
}

function withHeld(front: FrontReport, held: ConnectionCounts, heldWaking = 0): FrontReport {
  const backends = front.backends.map((each) => ({ ...each, connections: each.connections + (held[each.id] ?? 0) }));
  const connections = Object.values(held).reduce((sum, count) => sum + count, 0);
  return { ...front, ...sleepSum(front, { waking: heldWaking, counted: { connections, total: 0 } }), backends };
}

/** Empty for a front that doesn't sleep. */
function sleepSum(
  { waking, counted }: Pick<FrontReport, "waking" | "counted">,
  other: Pick<FrontReport, "waking" | "counted">,
): Pick<FrontReport, "waking" | "counted"> {
  if (waking === undefined || counted === undefined) return {};
  const { connections = 0, total = 0 } = other.counted ?? {};
  return {
    waking: waking + (other.waking ?? 0),
    counted: { connections: counted.connections + connections, total: counted.total + total },
  };
}

/** The reports of all processes as one. The first process has all fronts; until another has reported a front, its backends count as not accepting. */
export function mergeReports([first = [], ...others]: readonly (readonly FrontReport[])[]): readonly FrontReport[] {
  return first.map((front) =>
    others.reduce(
      (sum, reports) =>
        addFront(
          sum,
          reports.find(({ id }) => id === front.id),
        ),
      front,
    ),
  );
}

function addFront(sum: FrontReport, front: FrontReport | undefined): FrontReport {
  if (front === undefined) return { ...sum, backends: sum.backends.map((backend) => addBackend(backend, undefined)) };
  const backends = new Map(front.backends.map((backend) => [backend.id, backend]));
  return {
    ...sum,
    waiting: sum.waiting + front.waiting,
    rejected: sum.rejected + front.rejected,
    ...sleepSum(sum, front),
    ...(front.full === undefined ? {} : { full: front.full }),
    backends: sum.backends.map((backend) => addBackend(backend, backends.get(backend.id))),
  };
}

function addBackend(sum: BackendReport, backend: BackendReport | undefined): BackendReport {
  if (backend === undefined) return { ...sum, accepting: false };
  return {
    id: sum.id,
    accepting: sum.accepting && backend.accepting,
    connections: sum.connections + backend.connections,
    total: sum.total + backend.total,
    bytesIn: sum.bytesIn + backend.bytesIn,
    bytesOut: sum.bytesOut + backend.bytesOut,
    refused: sum.refused + backend.refused,
    ...(sum.foreign === true || backend.foreign === true ? { foreign: true } : {}),
  };
}

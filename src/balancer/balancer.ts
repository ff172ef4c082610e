/** The balancer's first process: opens the ports, and serves them together with the worker processes. */
import { setTimeout as sleep } from "node:timers/promises";
import type { BackendReport, Front, FrontReport } from "../ipc/balancer-protocol.ts";
import { PortListener } from "./listener.ts";
import { Rebalancer } from "./rebalancer.ts";
import type { Tcp, TcpServer } from "./tcp-handle.ts";
import type { Worker } from "./worker.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Time for connections to end once no port is served any more. */
const CLOSE_MS = 5_000;
const CLOSE_POLL_MS = 20;
/** Processes that measure from the same moment on report within this time. */
const GATHER_MS = 10;

export type ListeningState = { readonly fronts: readonly Front[]; readonly servers: ReadonlyMap<string, TcpServer> };

export class Balancer {
  readonly #tcp: Tcp;
  readonly #worker: Worker;
  readonly #others: readonly WorkerProcess[];
  readonly #changed: () => void;
  readonly #rebalancer: Rebalancer;
  readonly #listeners = new Map<string, PortListener>();
  #fronts: readonly Front[] = [];
  #gathering: NodeJS.Timeout | undefined;

  /** `changed` is called when the report has changed. */
  constructor(tcp: Tcp, worker: Worker, others: readonly WorkerProcess[], changed: () => void) {
    this.#tcp = tcp;
    this.#worker = worker;
    this.#others = others;
    this.#changed = changed;
    this.#rebalancer = new Rebalancer(worker, others);
  }

  /** Call when a process has reported. Waits briefly for the figures of the others. */
  rebalance(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#rebalancer.check();
    }, GATHER_MS);
  }

  get report(): readonly FrontReport[] {
    const reports = [this.#worker.reports, ...this.#others.filter(({ isGone }) => !isGone).map((other) => other.reports)];
    return mergeReports(reports).map((front) => {
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
    for (const [id, listener] of this.#listeners) if (!fronts.some((front) => front.id === id && listener.serves(front))) this.#close(id);
    for (const { id } of fronts) this.#share(id);
    const applied = [this.#worker, ...this.#others].map((each) => each.apply(fronts));
    for (const front of fronts) if (!this.#listeners.has(front.id)) this.#open(front, inherited?.get(front.id));
    const attempts = [...this.#listeners.values()].map(({ attempted }) => attempted);
    await Promise.all([...applied, ...attempts]);
  }

  /** Closes the ports. Resolves when the last connection has ended, or after `CLOSE_MS`. */
  async close(): Promise<void> {
    await this.#stop("close");
    await this.#drained(() => true);
  }

  /** The successor accepts clients now. Resolves when the last connection here has ended; once `isOver`, at most `CLOSE_MS` later. */
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
    for (; this.#clients > 0 && performance.now() < end; await sleep(CLOSE_POLL_MS))
      if (end === Number.POSITIVE_INFINITY && isOver()) end = performance.now() + CLOSE_MS;
    await Promise.all(this.#others.map((other) => other.end()));
  }

  get #clients(): number {
    return this.#others.reduce((sum, { clients }) => sum + clients, this.#worker.clients);
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

  #close(id: string): void {
    this.#listeners.get(id)?.close();
    this.#listeners.delete(id);
    this.#worker.unlisten(id);
    for (const other of this.#others) other.unlisten(id);
  }
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
  };
}

/** What each process of the balancer does: serves all frontends on listening sockets that several processes may share. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Front, FrontReport } from "../ipc/balancer-protocol.ts";
import type { ConnectionCounts } from "./backends.ts";
import type { SocketPair } from "./connection.ts";
import { Frontend } from "./frontend.ts";
import { type Load, NO_LOAD, type PlacedConnection } from "./rebalancer.ts";
import { KEEP_ALIVE_SECONDS, type Tcp, type TcpHandle, type TcpServer } from "./tcp-handle.ts";

/** Interval of checking time limits and load, while there are clients. */
const CHECK_MS = 250;
/** Many clients may come at once: the load is first measured after this time, and reported at once above `HIGH_LOAD` (share of a core). */
const FIRST_LOAD_MS = 30;
const HIGH_LOAD = 0.2;
/** Delay of a report, so that it covers several changes. */
const REPORT_MS = 10;
const SETTLE_POLL_MS = 2;
/** File descriptors kept for other uses than connections, which take two each. */
const SPARE_FILES = 64;
/** How long it is reported that clients were rejected for lack of file descriptors. */
const FULL_MS = 5_000;

/** Milliseconds (0: none), by id of the front. */
export type IdleTimeouts = Readonly<Record<string, number>>;

export class Worker {
  readonly #tcp: Tcp;
  readonly #number: number;
  readonly #report: () => void;
  readonly #frontends = new Map<string, Frontend>();
  readonly #listening = new Map<string, TcpServer>();
  /** Frontends that were closed and still have connections. */
  readonly #closed = new Set<Frontend>();
  #checking: NodeJS.Timeout | undefined;
  #reporting: NodeJS.Timeout | undefined;
  readonly #files: number;
  readonly #mostConnections: number;
  /** Clients that may come before connections are counted again. */
  #room = 0;
  /** At the last measurement. */
  #used = { at: 0, cpu: process.cpuUsage() };
  load: Load;
  /** Runs while `full` is reported. */
  #full: NodeJS.Timeout | undefined;

  /** `number`: of this process, from 0. `report` is called when something has changed. `files`: most open files. */
  constructor(tcp: Tcp, number: number, report: () => void, files: number = mostOpenFiles()) {
    this.#tcp = tcp;
    this.#number = number;
    this.#report = report;
    this.#files = files;
    this.#mostConnections = Math.max(1, Math.floor((files - SPARE_FILES) / 2));
    this.load = { ...NO_LOAD, room: this.#mostConnections };
  }

  get clients(): number {
    return this.#all.reduce((sum, { clients }) => sum + clients, 0);
  }

  get reports(): readonly FrontReport[] {
    const full = this.#full === undefined ? {} : { full: this.#files };
    return [...this.#frontends.values()].map((frontend) => ({ ...frontend.report(), ...full }));
  }

  get busyConnections(): readonly PlacedConnection[] {
    return this.#all.flatMap(({ busyConnections }) => busyConnections);
  }

  /** Takes a connection migrated from another process. */
  adopt({ front, backend }: Omit<PlacedConnection, "connection">, sockets: SocketPair): void {
    const frontend = this.#frontends.get(front) ?? this.#closedFrontend(front);
    frontend.adopt(backend, sockets);
    this.#room -= 1;
    this.#startChecking();
  }

  /** Resolves when applied: no attempt to connect to a backend that may get no connection is under way. */
  async apply(fronts: readonly Front[]): Promise<void> {
    const ids = new Set(fronts.map(({ id }) => id));
    for (const id of [...this.#frontends.keys()]) if (!ids.has(id)) this.#drop(id);
    for (const front of fronts) {
      const known = this.#frontends.get(front.id);
      if (known === undefined) this.#frontends.set(front.id, this.#newFrontend(front));
      else known.apply(front);
    }
    this.#reportSoon();
    while (this.#all.some(({ isSettling }) => isSettling)) await sleep(SETTLE_POLL_MS);
  }

  /** The connections of this front that other processes have, as far as they count for this one. */
  setElsewhere(id: string, counts: ConnectionCounts): void {
    this.#frontends.get(id)?.setElsewhere(counts);
  }

  setIdleTimeouts(timeouts: IdleTimeouts): void {
    for (const [id, idleMs] of Object.entries(timeouts)) this.#frontends.get(id)?.setIdleTimeout(idleMs);
  }

  /** Accepts clients of this front. Returns 0 or a negative errno. */
  listen(id: string, server: TcpServer): number {
    this.unlisten(id);
    const status = server.accept((client) => this.#accept(id, client));
    if (status === 0) this.#listening.set(id, server);
    return status;
  }

  unlisten(id: string): void {
    this.#listening.get(id)?.close();
    this.#listening.delete(id);
  }

  /** Stops accepting clients and closes the queued ones. */
  close(): void {
    for (const id of [...this.#frontends.keys()]) this.#drop(id);
  }

  /** Stops accepting clients; a successor does. Queued clients keep waiting. */
  retire(): void {
    for (const id of [...this.#listening.keys()]) this.unlisten(id);
    for (const frontend of this.#frontends.values()) frontend.retire();
  }

  /** The listening socket of this front. */
  server(id: string): TcpServer | undefined {
    return this.#listening.get(id);
  }

  get #all(): readonly Frontend[] {
    return [...this.#frontends.values(), ...this.#closed];
  }

  #newFrontend(front: Front): Frontend {
    const changed = (): void => this.#reportSoon();
    return new Frontend(front, { tcp: this.#tcp, turn: this.#number, changed, woken: this.#report });
  }

  /** For a migrated connection whose port is not served any more. */
  #closedFrontend(id: string): Frontend {
    const front = {
      id,
      hostname: "",
      port: 0,
      strategy: "round-robin",
      proxyProtocol: false,
      idleMs: 0,
      backends: [],
    } as const;
    const frontend = this.#newFrontend(front);
    this.#closed.add(frontend);
    return frontend;
  }

  #drop(id: string): void {
    const frontend = this.#frontends.get(id);
    this.unlisten(id);
    this.#frontends.delete(id);
    frontend?.close();
    if (frontend !== undefined && frontend.clients > 0) this.#closed.add(frontend);
  }

  #accept(id: string, client: TcpHandle): void {
    const frontend = this.#frontends.get(id);
    if (frontend === undefined) return client.close();
    if (process.platform !== "linux") prepare(client);
    this.#startChecking();
    if (this.#room <= 0) this.#room = this.#mostConnections - this.clients;
    if (this.#room <= 0) return this.#reject(frontend, client);
    this.#room -= 1;
    frontend.accept(client);
  }

  /** Rejected before file descriptors run out: libuv would then reset clients without a notice. */
  #reject(frontend: Frontend, client: TcpHandle): void {
    frontend.reject(client);
    clearTimeout(this.#full);
    this.#full = setTimeout(() => {
      this.#full = undefined;
      this.#report();
    }, FULL_MS).unref();
    this.#reportSoon();
  }

  #startChecking(): void {
    if (this.#checking !== undefined) return;
    this.#checking = setInterval(() => this.#check(), CHECK_MS);
    setTimeout(() => this.#firstLoad(), FIRST_LOAD_MS);
    this.#used = { at: performance.now(), cpu: process.cpuUsage() };
  }

  #firstLoad(): void {
    this.#measure();
    if (this.load.cpu >= HIGH_LOAD) this.#report();
  }

  #measure(): void {
    const now = performance.now();
    for (const frontend of this.#all) frontend.enforceLimits(now);
    this.load = this.#loadAt(now);
  }

  #check(): void {
    this.#measure();
    for (const frontend of this.#closed) if (frontend.clients === 0) this.#closed.delete(frontend);
    this.#report();
    if (this.clients > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  #loadAt(now: number): Load {
    const room = this.#mostConnections - this.clients;
    if (room === this.#mostConnections) return { ...NO_LOAD, room };
    const { user, system } = process.cpuUsage(this.#used.cpu);
    const cpu = (user + system) / 1_000 / (now - this.#used.at);
    this.#used = { at: now, cpu: process.cpuUsage() };
    return { cpu, busy: this.busyConnections.length, room };
  }

  #reportSoon(): void {
    this.#reporting ??= setTimeout(() => {
      this.#reporting = undefined;
      this.#report();
    }, REPORT_MS);
  }
}

function prepare(client: TcpHandle): void {
  client.setNoDelay(true);
  client.setKeepAlive(true, KEEP_ALIVE_SECONDS);
}

/** The soft limit of open files; Infinity when there is none, or where /proc doesn't exist. */
function mostOpenFiles(): number {
  try {
    const [, soft = "unlimited"] =
      /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

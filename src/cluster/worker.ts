/** What one process of the balancer does: serves all common ports on listening sockets that several processes may share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Front, FrontReport } from "../contract/balancer-protocol.ts";
import { mostOpenFiles } from "../os/open-files.ts";
import { Distributor } from "./distributor.ts";
import type { Placed } from "./moving.ts";
import type { Sockets } from "./pair.ts";
import { type Load, NO_LOAD } from "./shares.ts";
import type { Handle } from "./sockets.ts";

const BACKLOG = 4_096;
/** Between two looks at connections, while there are any. Milliseconds. */
const TICK_MS = 250;
/** Many may have come at once: after so long it is looked whether there is much to do. Milliseconds; of a core. */
const FIRST_LOOK_MS = 30;
const MUCH = 0.2;
/** So long a client may take to be told of a change. Milliseconds. */
const TELL_MS = 10;
const SETTLE_LOOK_MS = 2;
/** Of the files that it may open so many are for other things than connections, which take two each. */
const SPARE_FILES = 64;
/** That clients were turned away is reported for so long. Milliseconds. */
const FULL_MS = 5_000;

export class Worker {
  readonly #turn: number;
  readonly #tell: () => void;
  readonly #distributors = new Map<string, Distributor>();
  readonly #listening = new Map<string, Handle>();
  /** Ports that are not served any more, while connections through them go on. */
  readonly #former = new Set<Distributor>();
  #ticking: NodeJS.Timeout | undefined;
  #telling: NodeJS.Timeout | undefined;
  readonly #files = mostOpenFiles();
  /** That it may have at a time; counted anew when as many have come. */
  readonly #most = Math.max(1, Math.floor((this.#files - SPARE_FILES) / 2));
  #room = 0;
  /** At the last look. */
  #used = { at: 0, cpu: process.cpuUsage() };
  load: Load;
  /** Runs while it is reported that clients were turned away. */
  #full: NodeJS.Timeout | undefined;

  readonly pid = process.pid;

  /** `turn`: number of this process. `tell`: something has changed. */
  constructor(turn: number, tell: () => void) {
    this.#turn = turn;
    this.#tell = tell;
    this.load = { ...NO_LOAD, room: this.#most };
  }

  /** Clients that are served, or wait. */
  get clients(): number {
    return this.#all.reduce((sum, { clients }) => sum + clients, 0);
  }

  get reports(): readonly FrontReport[] {
    const full = this.#full === undefined ? {} : { full: this.#files };
    return [...this.#distributors.values()].map((distributor) => ({ ...distributor.report(), ...full }));
  }

  get busyPairs(): readonly Placed[] {
    return this.#all.flatMap(({ busyPairs }) => busyPairs);
  }

  /** Serves a connection that another process has had so far. */
  adopt({ front, backend }: Omit<Placed, "pair">, sockets: Sockets): void {
    const distributor = this.#distributors.get(front) ?? this.#formerOf(front);
    distributor.adopt(backend, sockets);
    this.#startTicking();
  }

  /** Resolves when it is so: nobody who shall not be connected to is being connected to. */
  async apply(fronts: readonly Front[]): Promise<void> {
    const wanted = new Set(fronts.map(({ id }) => id));
    for (const id of [...this.#distributors.keys()]) if (!wanted.has(id)) this.#drop(id);
    for (const front of fronts) {
      const known = this.#distributors.get(front.id);
      if (known === undefined) this.#distributors.set(front.id, this.#distributorOf(front));
      else known.apply(front);
    }
    this.#tellSoon();
    while (this.#all.some(({ isSettling }) => isSettling)) await sleep(SETTLE_LOOK_MS);
  }

  /** Takes clients of this front from a socket that is bound. Returns 0 or a negative errno. */
  listen(id: string, socket: Handle): number {
    this.unlisten(id);
    socket.onconnection = (status, client) => {
      if (status === 0) this.#accept(id, client);
    };
    const status = socket.listen(BACKLOG);
    // Linux gives that to all that are accepted.
    if (status === 0) socket.setNoDelay(true);
    if (status === 0) this.#listening.set(id, socket);
    return status;
  }

  unlisten(id: string): void {
    this.#listening.get(id)?.close();
    this.#listening.delete(id);
  }

  /** Takes no clients any more. */
  close(): void {
    for (const id of [...this.#distributors.keys()]) this.#drop(id);
  }

  /** Another process takes the clients of now; those who wait here wait on. */
  retire(): void {
    for (const id of [...this.#listening.keys()]) this.unlisten(id);
    for (const distributor of this.#distributors.values()) distributor.retire();
  }

  /** The socket on which it takes the clients of this front. */
  socket(id: string): Handle | undefined {
    return this.#listening.get(id);
  }

  get #all(): readonly Distributor[] {
    return [...this.#distributors.values(), ...this.#former];
  }

  #distributorOf(front: Front): Distributor {
    return new Distributor(front, { turn: this.#turn, changed: () => this.#tellSoon() });
  }

  /** The port is not served any more. */
  #formerOf(id: string): Distributor {
    const front = { id, hostname: "", port: 0, strategy: "round-robin", proxyProtocol: false, idleMs: 0, backends: [] } as const;
    const distributor = this.#distributorOf(front);
    this.#former.add(distributor);
    return distributor;
  }

  #drop(id: string): void {
    const distributor = this.#distributors.get(id);
    this.unlisten(id);
    this.#distributors.delete(id);
    distributor?.close();
    if (distributor !== undefined && distributor.clients > 0) this.#former.add(distributor);
  }

  #accept(id: string, client: Handle): void {
    const distributor = this.#distributors.get(id);
    if (distributor === undefined) return client.close();
    if (process.platform !== "linux") client.setNoDelay(true);
    this.#startTicking();
    if (this.#room <= 0) this.#room = this.#most - this.clients;
    if (this.#room <= 0) return this.#turnAway(distributor, client);
    this.#room -= 1;
    distributor.accept(client);
  }

  /** Without a file for it libuv would reset it, and tell nobody. */
  #turnAway(distributor: Distributor, client: Handle): void {
    distributor.turnAway(client);
    clearTimeout(this.#full);
    this.#full = setTimeout(() => {
      this.#full = undefined;
      this.#tell();
    }, FULL_MS);
    this.#tellSoon();
  }

  #startTicking(): void {
    if (this.#ticking !== undefined) return;
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
    setTimeout(() => this.#firstLook(), FIRST_LOOK_MS);
    this.#used = { at: performance.now(), cpu: process.cpuUsage() };
  }

  #firstLook(): void {
    this.#look();
    if (this.load.cpu >= MUCH) this.#tell();
  }

  #look(): void {
    const now = performance.now();
    for (const distributor of this.#all) distributor.tick(now);
    this.load = this.#loadAt(now);
  }

  #tick(): void {
    this.#look();
    for (const distributor of this.#former) if (distributor.clients === 0) this.#former.delete(distributor);
    this.#tell();
    if (this.clients > 0) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }

  #loadAt(now: number): Load {
    const room = this.#most - this.clients;
    if (room === this.#most) return { ...NO_LOAD, room };
    const { user, system } = process.cpuUsage(this.#used.cpu);
    const cpu = (user + system) / 1_000 / (now - this.#used.at);
    this.#used = { at: now, cpu: process.cpuUsage() };
    return { cpu, busy: this.busyPairs.length, room };
  }

  #tellSoon(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#tell();
    }, TELL_MS);
  }
}

/** One common port in one process: gives each client a backend, or lets it wait for one. */
import type { Front, FrontReport } from "../contract/balancer-protocol.ts";
import { type Backend, Backends } from "./backends.ts";
import type { Placed } from "./moving.ts";
import { Pair, type Sockets } from "./pair.ts";
import { HOST, Prober } from "./prober.ts";
import { proxyHeader } from "./proxy-header.ts";
import { type ConnectRequest, connectRequest, type Handle, isToItself, newSocket, REFUSED } from "./sockets.ts";
import { type Visit, WaitingRoom } from "./waiting-room.ts";

/** A backend that answers neither yes nor no for so long counts as one that refuses. Milliseconds. */
const CONNECT_MS = 2_000;

/** Numbers of libuv: what fails for want of our own (ports, descriptors, memory) says nothing about the backend. */
const OWN_FAULTS = new Set([-99, -49, -24, -23, -105, -55, -12]);

type Attempt = { readonly visit: Visit; readonly backend: Backend; readonly socket: Handle; readonly due: number; isLate: boolean };

export class Distributor {
  #front: Front;
  readonly #backends: Backends;
  readonly #prober: Prober;
  readonly #waiting: WaitingRoom;
  readonly #pairs = new Map<Pair, Backend>();
  readonly #attempts = new Set<Attempt>();
  readonly #changed: () => void;

  /** `turn`: where round robin begins. `changed`: somebody accepts now who did not, or the other way round. */
  constructor(front: Front, { turn, changed }: { readonly turn: number; readonly changed: () => void }) {
    this.#front = front;
    this.#changed = changed;
    this.#backends = new Backends(front.strategy, turn);
    this.#prober = new Prober(this.#backends, (backend) => this.#onAccepts(backend));
    this.#waiting = new WaitingRoom((visit) => this.#place(visit));
    this.apply(front);
  }

  /** Served, on their way to a backend, or waiting for one. */
  get clients(): number {
    return this.#pairs.size + this.#attempts.size + this.#waiting.waiting;
  }

  /** Attempts to connect to one that shall get no connection are still under way. */
  get isSettling(): boolean {
    return this.#backends.isSettling;
  }

  apply(front: Front): void {
    this.#front = front;
    this.#backends.set(front.strategy, front.backends, front.maxConnections);
    this.#prober.usesHeader = front.proxyProtocol;
    this.#admit();
    if (this.#backends.unproven.length > 0) this.#prober.wake(true);
  }

  accept(client: Handle): void {
    const { strategy, proxyProtocol } = this.#front;
    const peer: { address?: string; port?: number } = {};
    // Gone already, when its address can't be told.
    if ((strategy === "ip-hash" || proxyProtocol) && client.getpeername(peer) < 0) return client.close();
    const { address = "", port = 0 } = peer;
    this.#place({ client, address, port, since: performance.now() });
  }

  turnAway(client: Handle): void {
    this.#waiting.turnAway(client);
  }

  /** Those that last, and that another process may serve as well: where connections are limited this one alone counts them. */
  get busyPairs(): readonly Placed[] {
    if (this.#front.maxConnections !== undefined) return [];
    return [...this.#pairs].flatMap(([pair, { id }]) => (pair.isBusy ? [{ front: this.#front.id, backend: id, pair }] : []));
  }

  /** A connection that another process has had so far. */
  adopt(id: string, sockets: Sockets): void {
    this.#pair(sockets, this.#backends.adopted(id)).begin();
    this.#changed();
  }

  /** Looks after those who wait, who hang, and through whom nothing flows. */
  tick(now: number): void {
    for (const attempt of this.#attempts) if (now > attempt.due && !attempt.isLate) cut(attempt);
    this.#waiting.look(now);
    for (const pair of this.#pairs.keys()) pair.look(now, this.#front.idleMs);
  }

  /** Nobody new comes in. What is under way goes on. */
  close(): void {
    this.#prober.stop();
    this.#waiting.close();
    this.#backends.set(this.#front.strategy, []);
  }

  /** Nobody tells any more who comes up: whoever waits is served by the first that accepts. */
  retire(): void {
    const backends = this.#front.backends.map((backend) => (backend.state === "down" ? { ...backend, state: "up" as const } : backend));
    this.apply({ ...this.#front, backends });
  }

  report(): FrontReport {
    const { waiting, rejected } = this.#waiting;
    return { id: this.#front.id, waiting, rejected, backends: this.#backends.all.map((backend) => backend.report()) };
  }

  #place(visit: Visit): void {
    const backend = this.#backends.next(visit.address);
    if (backend === undefined) return this.#waiting.add(visit);
    const socket = newSocket();
    const attempt: Attempt = { visit, backend, socket, due: performance.now() + CONNECT_MS, isLate: false };
    this.#attempts.add(attempt);
    const request = connectRequest();
    request.oncomplete = onConnected;
    request.owner = { distributor: this, attempt };
    const status = socket.connect(request, HOST, backend.port);
    if (status < 0) this.onConnected(attempt, status);
  }

  onConnected(attempt: Attempt, status: number): void {
    const { visit, backend, socket } = attempt;
    this.#attempts.delete(attempt);
    if (status === 0 && !attempt.isLate) return this.#join(visit, backend, socket);
    if (!attempt.isLate) socket.close();
    if (OWN_FAULTS.has(status)) {
      this.#backends.abandoned(backend);
      return this.#waiting.add(visit);
    }
    this.#backends.refused(backend);
    this.#prober.wake(false);
    this.#changed();
    this.#place(visit);
  }

  #join(visit: Visit, backend: Backend, socket: Handle): void {
    this.#backends.connected(backend);
    this.#pair({ client: visit.client, backend: socket }, backend).begin(this.#front.proxyProtocol ? this.#header(visit) : undefined);
  }

  #pair({ client, backend: socket }: Sockets, backend: Backend): Pair {
    const pair = new Pair(client, socket, backend, (closed) => {
      this.#pairs.delete(closed);
      this.#backends.closed(backend);
      this.#admit();
    });
    this.#pairs.set(pair, backend);
    return pair;
  }

  /** One that had all that it may have has room again. */
  #admit(): void {
    if (this.#waiting.waiting > 0 && this.#backends.hasRoom) this.#waiting.serve();
  }

  #header(visit: Visit): Buffer {
    const at: { address?: string; port?: number } = {};
    visit.client.getsockname(at);
    const { address = this.#front.hostname, port = this.#front.port } = at;
    return proxyHeader(visit, { address, port });
  }

  #onAccepts(backend: Backend): void {
    this.#backends.accepts(backend);
    this.#changed();
    this.#waiting.serve();
  }
}

function onConnected(this: ConnectRequest, status: number): void {
  const { distributor, attempt } = this.owner as { readonly distributor: Distributor; readonly attempt: Attempt };
  const isAlone = status === 0 && !attempt.isLate && isToItself(attempt.socket, attempt.backend.port);
  distributor.onConnected(attempt, isAlone ? REFUSED : status);
}

/** Its `oncomplete` follows. */
function cut(attempt: Attempt): void {
  attempt.isLate = true;
  attempt.socket.close();
}

/** One common port in one process: assigns each client to a backend, or queues it until one is available. */
import type { Front, FrontReport } from "../ipc/balancer-protocol.ts";
import { AddressList } from "../os/address-list.ts";
import { type Backend, Backends, type ConnectionCounts } from "./backends.ts";
import { ProxiedConnection, type SocketPair } from "./connection.ts";
import { HealthCheck, HOST } from "./health-check.ts";
import { PENDING_MS, PendingClient, PendingQueue } from "./pending-queue.ts";
import { proxyHeader } from "./proxy-protocol.ts";
import type { PlacedConnection } from "./rebalancer.ts";
import { isToItself, REFUSED, type SocketName, type Tcp, type TcpHandle } from "./tcp-handle.ts";

/** A backend that has not answered within this time counts as refusing. */
const CONNECT_MS = 2_000;

/** Error numbers of libuv that mean a lack of the balancer's own resources (ports, file descriptors, memory) and not a fault of the backend. */
const OWN_FAULTS = new Set([-99, -49, -24, -23, -105, -55, -12]);

type ConnectAttempt = {
  readonly pending: PendingClient;
  readonly backend: Backend;
  readonly socket: TcpHandle;
  readonly due: number;
  isLate: boolean;
};

export type FrontendOptions = {
  readonly tcp: Tcp;
  /** Where round robin begins. */
  readonly turn: number;
  /** Called when a backend begins or ceases to accept. */
  readonly changed: () => void;
  /** Called when the first client has come that wakes the instances. */
  readonly woken: () => void;
};

export class Frontend {
  #front: Front;
  readonly #tcp: Tcp;
  readonly #backends: Backends;
  readonly #healthCheck: HealthCheck;
  readonly #queue: PendingQueue;
  readonly #connections = new Map<ProxiedConnection, Backend>();
  readonly #attempts = new Set<ConnectAttempt>();
  readonly #changed: () => void;
  readonly #woken: () => void;
  #needsAddress = false;
  /** Clients that neither wake the instances nor keep them awake. */
  #ignored: AddressList | undefined;
  /** Their connections. */
  readonly #uncounted = new Set<ProxiedConnection>();
  /** Connections so far of all others. */
  #counted = 0;
  /** The client that wakes the instances was reported. */
  #isWoken = false;

  constructor(front: Front, { tcp, turn, changed, woken }: FrontendOptions) {
    this.#front = front;
    this.#tcp = tcp;
    this.#changed = changed;
    this.#woken = woken;
    this.#backends = new Backends(front.strategy, turn);
    this.#healthCheck = new HealthCheck(tcp, this.#backends, {
      accepts: (backend) => this.#onAccepts(backend),
      foreign: changed,
      isAwaited: () => this.#queue.size > 0,
    });
    this.#queue = new PendingQueue(tcp, {
      hasRoom: () => this.#backends.hasRoom,
      place: (client) => this.#place(client),
      came: () => this.#wake(),
    });
    this.apply(front);
  }

  /** Connected, connecting and queued. */
  get clients(): number {
    return this.#connections.size + this.#attempts.size + this.#queue.size;
  }

  /** Attempts to connect to a backend that may get no connection are still under way. */
  get isSettling(): boolean {
    return this.#backends.isSettling;
  }

  apply(front: Front): void {
    const hadHeaders = this.#front.proxyProtocol;
    this.#front = front;
    this.#backends.set(front.strategy, front.backends, front.maxConnections);
    if (hadHeaders && !front.proxyProtocol) this.#backends.askAgain();
    const { timeoutMs = PENDING_MS, ignore } = front.wake ?? {};
    this.#queue.limitMs = timeoutMs;
    this.#ignored = ignore && new AddressList(ignore);
    this.#isWoken &&= front.asleep === true;
    this.#needsAddress =
      ignore !== undefined ||
      front.strategy === "ip-hash" ||
      front.proxyProtocol ||
      front.backends.some(({ proxyToken }) => proxyToken !== undefined);
    this.#healthCheck.usesHeader = front.proxyProtocol;
    if (front.closed === true) this.#queue.close();
    this.#queue.admit();
    if (this.#backends.unproven.length > 0) this.#healthCheck.wake(true);
  }

  setIdleTimeout(idleMs: number): void {
    this.#front = { ...this.#front, idleMs };
  }

  /** The connections that other processes have. */
  setElsewhere(counts: ConnectionCounts): void {
    this.#backends.setElsewhere(counts);
    this.#queue.admit();
  }

  accept(client: TcpHandle): void {
    const peer: SocketName = {};
    // Without an address the client has already gone.
    if (this.#needsAddress && client.getpeername(peer) < 0) return client.close();
    const counts = !this.#isIgnored(peer);
    if (!counts && this.#front.asleep === true) return client.close();
    this.#place(new PendingClient(client, peer, counts));
  }

  #isIgnored({ address = "" }: SocketName): boolean {
    return this.#ignored?.has(address) === true;
  }

  get #waking(): number {
    return this.#queue.waking(this.#front.wake?.on ?? "connect");
  }

  /** A client waits: the first that wakes the instances is reported. */
  #wake(): void {
    if (this.#front.asleep !== true || this.#isWoken || this.#waking === 0) return;
    this.#isWoken = true;
    this.#woken();
  }

  reject(client: TcpHandle): void {
    this.#queue.reject(client);
  }

  /** Long-lived connections that can migrate; none where connections are limited, as only this process counts them. */
  get busyConnections(): readonly PlacedConnection[] {
    const { id, maxConnections } = this.#front;
    if (maxConnections !== undefined || !this.#tcp.canMigrate) return [];
    return [...this.#connections].flatMap(([connection, backend]) =>
      connection.isBusy ? [{ front: id, backend: backend.id, connection }] : [],
    );
  }

  /** Takes a connection migrated from another process. */
  adopt(backend: string, sockets: SocketPair): void {
    const peer: SocketName = {};
    if (this.#ignored !== undefined) sockets.client.getpeername(peer);
    this.#connect(sockets, this.#backends.adopted(backend), !this.#isIgnored(peer)).begin();
    this.#changed();
  }

  /** Applies the time limits of attempts, queued clients and idle connections. */
  enforceLimits(now: number): void {
    for (const attempt of this.#attempts) if (now > attempt.due && !attempt.isLate) cancel(attempt);
    this.#queue.rejectLate(now);
    for (const connection of this.#connections.keys()) connection.check(now, this.#front.idleMs);
  }

  /** Accepts no clients any more. Open connections stay. */
  close(): void {
    this.#healthCheck.stop();
    this.#queue.close();
    this.#backends.set(this.#front.strategy, []);
  }

  /** No service reports backends any more: queued clients get the first that accepts. */
  retire(): void {
    const backends = this.#front.backends.map(({ pid: _unknown, ...backend }) =>
      backend.state === "down" || this.#front.asleep === true ? { ...backend, state: "up" as const } : backend,
    );
    this.apply({ ...this.#front, backends });
  }

  report(): FrontReport {
    const { size: waiting, rejected } = this.#queue;
    const backends = this.#backends.all.map((backend) => backend.report());
    return { id: this.#front.id, waiting, rejected, ...this.#sleepReport(), backends };
  }

  #sleepReport(): Pick<FrontReport, "waking" | "counted"> {
    if (this.#front.wake === undefined) return {};
    const connections = this.#connections.size - this.#uncounted.size + this.#attempts.size;
    return { waking: this.#waking, counted: { connections, total: this.#counted } };
  }

  #place(pending: PendingClient): void {
    const backend = this.#backends.next(pending.address);
    if (backend === undefined) return this.#queue.add(pending);
    const socket = this.#tcp.newSocket();
    const attempt: ConnectAttempt = { pending, backend, socket, due: performance.now() + CONNECT_MS, isLate: false };
    this.#attempts.add(attempt);
    this.#tcp.connect(socket, HOST, backend.port, (status) => this.#onConnected(attempt, status));
  }

  #onConnected(attempt: ConnectAttempt, result: number): void {
    const { pending, backend, socket } = attempt;
    this.#attempts.delete(attempt);
    const status = result === 0 && !attempt.isLate && isToItself(socket, backend.port) ? REFUSED : result;
    if (status === 0 && !attempt.isLate) return this.#join(pending, backend, socket);
    if (!attempt.isLate) socket.close();
    if (OWN_FAULTS.has(status)) {
      this.#backends.abandoned(backend);
      return this.#queue.add(pending);
    }
    // Perhaps another program of the instance listens next.
    if (!attempt.isLate) backend.readsHeader = undefined;
    this.#backends.refused(backend);
    this.#healthCheck.wake(false);
    this.#changed();
    this.#place(pending);
  }

  #join(pending: PendingClient, backend: Backend, socket: TcpHandle): void {
    this.#backends.connected(backend);
    const { head: sent, counts } = pending;
    if (counts) this.#counted += 1;
    backend.bytesIn += sent?.length ?? 0;
    const header = this.#front.proxyProtocol || backend.readsHeader === true ? [this.#header(pending, backend)] : [];
    const head = sent === undefined ? header[0] : Buffer.concat([...header, sent]);
    this.#connect({ client: pending.client, backend: socket }, backend, counts).begin(head);
  }

  #connect(sockets: SocketPair, backend: Backend, counts: boolean): ProxiedConnection {
    const connection = new ProxiedConnection(this.#tcp, sockets, backend, (closed) => {
      this.#connections.delete(closed);
      this.#uncounted.delete(closed);
      this.#backends.closed(backend);
      this.#queue.admit();
    });
    this.#connections.set(connection, backend);
    if (!counts) this.#uncounted.add(connection);
    return connection;
  }

  #header(pending: PendingClient, { proxyToken }: Backend): Buffer {
    const at: { address?: string; port?: number } = {};
    pending.client.getsockname(at);
    const { address = this.#front.hostname, port = this.#front.port } = at;
    return proxyHeader(pending, { address, port }, proxyToken);
  }

  #onAccepts(backend: Backend): void {
    this.#backends.accepts(backend);
    this.#changed();
    this.#queue.admit();
  }
}

/** `onConnected` follows. */
function cancel(attempt: ConnectAttempt): void {
  attempt.isLate = true;
  attempt.socket.close();
}

/**
 * Evens the load of the balancer's processes by migrating open connections from one to another.
 *
 * Clients are accepted by the process that wakes first, which may be the same one each time. To migrate a connection
 * its two sockets are sent over the channel between two reads; bytes that arrive meanwhile wait in the kernel. Figures:
 * docs/design/performance.md.
 */
import type { ProxiedConnection, SocketPair } from "./connection.ts";
import type { TcpHandle } from "./tcp-handle.ts";

/** Load of one process since its last measurement. */
export type Load = {
  /** CPU time used, as a share of a core. */
  readonly cpu: number;
  /** Long-lived connections with traffic. */
  readonly busy: number;
  /** Further connections that the process may have. */
  readonly room: number;
};

export const NO_LOAD: Load = { cpu: 0, busy: 0, room: 0 };

/** From and to: indices of processes. */
export type Migration = { readonly from: number; readonly to: number; readonly count: number };

/** One of the two sockets of a connection. */
export type SocketHalf = { readonly t: "client" | "backend"; readonly front: string; readonly backend: string };

export type PlacedConnection = {
  readonly front: string;
  readonly backend: string;
  readonly connection: ProxiedConnection;
};

/** Resolves with whether the socket was sent; the receiver then has it, also when it is closed here. */
export type SendHalf = (half: SocketHalf, socket: TcpHandle) => Promise<boolean>;

/** The process that this one is. */
export type LocalProcess = {
  readonly load: Load;
  readonly busyConnections: readonly PlacedConnection[];
  readonly adopt: (placed: Omit<PlacedConnection, "connection">, sockets: SocketPair) => void;
};

/** Another process. */
export type RemoteProcess = {
  readonly load: Load;
  readonly migrate: (
    count: number,
    received: (half: SocketHalf, socket: TcpHandle | undefined) => void,
  ) => Promise<void>;
  readonly send: SendHalf;
};

/** A process below this share of a core is not relieved. */
const LOADED = 0.2;
/** A smaller difference, as a share of a core, counts as even. */
const UNEVEN = 0.1;
/** Connections migrated at a time. */
const BATCH = 32;
/** After a migration, load figures are ignored for this time. */
const SETTLE_MS = 750;

/**
 * The migration that evens the most and the least loaded process; undefined when they are even, or one connection would
 * be too many.
 *
 * Where the CPUs are saturated a process gets less time than it needs, and CPU time doesn't show how much more it has
 * to do than another: then the number of its connections does.
 */
export function planMigration(loads: readonly Load[]): Migration | undefined {
  const [from, highest] = extreme(loads, (one, other) => one.cpu > other.cpu);
  const [to, lowest] = extreme(loads, (one, other) => one.cpu < other.cpu);
  const difference = highest.cpu - lowest.cpu;
  if (highest.cpu < LOADED || difference < UNEVEN) return undefined;
  const surplus = Math.max(highest.busy - lowest.busy, (highest.busy * difference) / highest.cpu);
  const count = Math.min(BATCH, lowest.room, Math.floor(surplus / 2));
  return count <= 0 ? undefined : { from, to, count };
}

function extreme(loads: readonly Load[], isMoreExtreme: (one: Load, other: Load) => boolean): readonly [number, Load] {
  let best = 0;
  for (const [index, load] of loads.entries()) if (isMoreExtreme(load, loads[best] ?? NO_LOAD)) best = index;
  return [best, loads[best] ?? NO_LOAD];
}

/** Sends up to `count` connections, one after the other, so that each pauses only briefly. */
export async function migrate(connections: readonly PlacedConnection[], count: number, send: SendHalf): Promise<void> {
  let left = count;
  for (const { connection, ...place } of connections) {
    if (left === 0) return;
    const sockets = connection.pause();
    if (sockets === undefined) continue;
    if (!(await sendHalves(place, sockets, send))) return connection.resume();
    connection.close(false);
    left -= 1;
  }
}

/** Resolves with whether both were sent. */
async function sendHalves(
  { front, backend }: Omit<PlacedConnection, "connection">,
  sockets: SocketPair,
  send: SendHalf,
): Promise<boolean> {
  const halves = (["client", "backend"] as const).map((t) => send({ t, front, backend }, sockets[t]));
  return (await Promise.all(halves)).every(Boolean);
}

/** Joins the two halves of a migrated connection, which arrive one after the other. */
export class MigrationReceiver {
  #client: TcpHandle | undefined;

  /** Returns both sockets when the second has arrived. If one is missing (no file descriptor was free), the other is closed. */
  add({ t }: SocketHalf, socket: TcpHandle | undefined): SocketPair | undefined {
    if (t === "client") {
      this.clear();
      this.#client = socket;
      return undefined;
    }
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined && socket !== undefined) return { client, backend: socket };
    client?.close();
    socket?.close();
    return undefined;
  }

  /** The sender has ended: its second half will not arrive. */
  clear(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

/** Runs in the first process; connections between two other processes pass through it. */
export class Rebalancer {
  readonly #local: LocalProcess;
  readonly #others: readonly RemoteProcess[];
  readonly #receiver = new MigrationReceiver();
  #migration: Promise<void> | undefined;
  #notBefore = 0;
  #stopped = false;

  constructor(local: LocalProcess, others: readonly RemoteProcess[]) {
    this.#local = local;
    this.#others = others;
  }

  /** Call after new load figures have arrived. */
  check(): void {
    if (this.#stopped || this.#migration !== undefined || performance.now() < this.#notBefore) return;
    const migration = planMigration([this.#local, ...this.#others].map(({ load }) => load));
    if (migration === undefined) return;
    this.#migration = this.#run(migration).then(() => {
      this.#migration = undefined;
      this.#notBefore = performance.now() + SETTLE_MS;
    });
  }

  /** Starts no further migration. Resolves when the current one is done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#migration;
  }

  async #run({ from, to, count }: Migration): Promise<void> {
    const source = this.#others[from - 1];
    const target = this.#others[to - 1];
    if (source !== undefined) {
      await source.migrate(count, (half, socket) => void this.#forward(half, socket, target));
      this.#receiver.clear();
    } else if (target !== undefined)
      await migrate(this.#local.busyConnections, count, (half, socket) => target.send(half, socket));
  }

  async #forward(half: SocketHalf, socket: TcpHandle | undefined, target: RemoteProcess | undefined): Promise<void> {
    const sockets = this.#receiver.add(half, socket);
    if (sockets === undefined) return;
    const isSent = target !== undefined && (await sendHalves(half, sockets, (each, its) => target.send(each, its)));
    // If the target has ended meanwhile, the connection stays in this process.
    if (!isSent) return this.#local.adopt(half, sockets);
    sockets.client.close();
    sockets.backend.close();
  }
}

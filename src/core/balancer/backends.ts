/** The backends of one frontend: which may get connections, and which gets the next. */
import type { BackendReport, BackendSpec, BackendState, Strategy } from "../ipc/balancer-protocol.ts";
import { PortOwnership } from "../os/port-ownership.ts";

/** The properties of a backend by which a strategy chooses. */
export type BackendCandidate = { readonly seed: number; readonly connections: number; readonly elsewhere: number };

/** Connections by id of the backend. */
export type ConnectionCounts = Readonly<Record<string, number>>;

/** `turn` counts the choices. */
export type Choice = {
  readonly candidates: readonly BackendCandidate[];
  readonly turn: number;
  readonly address: string;
};

/** Index of the chosen candidate; there must be at least one. */
export const choose: Readonly<Record<Strategy, (choice: Choice) => number>> = {
  "round-robin": ({ candidates, turn }) => turn % candidates.length,
  "least-connections": leastConnections,
  "ip-hash": highestScore,
};

/** Takes equals in turn. */
function leastConnections({ candidates, turn }: Choice): number {
  const { length } = candidates;
  let best = turn % length;
  for (let step = 1; step < length; step++) {
    const index = (turn + step) % length;
    if (loadOf(candidates[index] as BackendCandidate) < loadOf(candidates[best] as BackendCandidate)) best = index;
  }
  return best;
}

function loadOf({ connections, elsewhere }: BackendCandidate): number {
  return connections + elsewhere;
}

/** Rendezvous hashing: each client ranks all backends. A backend that goes moves only its own clients, and gets them back when it returns. */
function highestScore({ candidates, address }: Choice): number {
  const client = seedOf(plainAddress(address));
  let best = 0;
  let highest = -1;
  for (let index = 0; index < candidates.length; index++) {
    const score = mix(client ^ (candidates[index] as BackendCandidate).seed);
    if (score <= highest) continue;
    highest = score;
    best = index;
  }
  return best;
}

/** FNV-1a, then mixed: ids that differ in the last digit must differ in all bits. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mix(hash);
}

/** On an IPv6 socket an IPv4 client has a mapped address. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** The finaliser of MurmurHash3: each bit changes half of the others. Unsigned. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export class Backend implements BackendCandidate {
  readonly id: string;
  readonly seed: number;
  port: number;
  state: BackendState = "down";
  #pid: number | undefined;
  /** undefined: its process is not known. */
  #ownership: PortOwnership | undefined;
  /** Changes with its state, port and process. */
  version = 0;
  /** Another program accepts connections on its port. */
  isForeign = false;
  /** Whether the backend has just come up or has refused a connection: it gets none until the health check has connected to it. */
  isOut = true;
  /** Connections, attempts included. */
  connections = 0;
  /** Connections that other processes have, as far as they count here. */
  elsewhere = 0;
  /** Connections not yet established. */
  attempts = 0;
  total = 0;
  refused = 0;
  bytesIn = 0;
  bytesOut = 0;
  proxyToken: string | undefined;
  /** Its program reads headers with its token; undefined: it was not asked yet. */
  readsHeader: boolean | undefined;

  constructor(id: string, port: number) {
    this.id = id;
    this.port = port;
    this.seed = seedOf(id);
  }

  get isEligible(): boolean {
    return this.state === "up" && !this.isOut;
  }

  /** What has just accepted a connection on its port is the backend's own process, as far as the kernel shows it. */
  get isItself(): boolean {
    this.isForeign = this.#ownership?.strangerOnly() !== undefined;
    return !this.isForeign;
  }

  /** To ask whether it reads headers. */
  get question(): string | undefined {
    return this.readsHeader === undefined ? this.proxyToken : undefined;
  }

  update({ state, port, pid, uid, proxyToken }: BackendSpec): void {
    const isNewProcess = pid !== undefined && this.#pid !== undefined && pid !== this.#pid;
    if (pid !== this.#pid || port !== this.port)
      this.#ownership =
        pid === undefined
          ? undefined
          : new PortOwnership({ port, leader: pid, isOwn: true, ...(uid === undefined ? {} : { uid }) });
    if (this.state !== state || this.port !== port || isNewProcess) {
      this.isOut = true;
      this.isForeign = false;
      this.version += 1;
    }
    // A former balancer doesn't know the process any more.
    if (pid !== undefined && pid !== this.#pid) this.readsHeader = undefined;
    this.state = state;
    this.port = port;
    this.#pid = pid;
    this.proxyToken = proxyToken;
  }

  report(): BackendReport {
    const { id, connections, attempts, total, refused, bytesIn, bytesOut, isForeign } = this;
    const counts = { connections: connections - attempts, total, bytesIn, bytesOut, refused };
    return { id, accepting: this.isEligible, ...counts, ...(isForeign ? { foreign: true } : {}) };
  }
}

export class Backends {
  #strategy: Strategy;
  #all = new Map<string, Backend>();
  #candidates: readonly Backend[] = [];
  #turn: number;
  /** Most connections of a backend at a time. */
  #limit = Number.POSITIVE_INFINITY;

  /** `turn`: where round robin begins; differs between processes so that they don't all begin with the same backend. */
  constructor(strategy: Strategy, turn = 0) {
    this.#strategy = strategy;
    this.#turn = turn;
  }

  get all(): readonly Backend[] {
    return [...this.#all.values()];
  }

  /** Attempts to connect to a backend that may get no connection are still under way. */
  get isSettling(): boolean {
    return this.all.some(({ state, attempts }) => state !== "up" && attempts > 0);
  }

  /** Up, but the health check has not connected yet. */
  get unproven(): readonly Backend[] {
    return this.all.filter(({ state, isOut }) => state === "up" && isOut);
  }

  /** At least one backend may get a connection. */
  get hasRoom(): boolean {
    return this.#candidates.length > 0;
  }

  /** Replaces the backends. `limit`: most connections of a backend at a time. */
  set(strategy: Strategy, specs: readonly BackendSpec[], limit = Number.POSITIVE_INFINITY): void {
    this.#strategy = strategy;
    this.#limit = limit;
    this.#all = new Map(specs.map((spec) => [spec.id, this.#all.get(spec.id) ?? new Backend(spec.id, spec.port)]));
    for (const spec of specs) this.#all.get(spec.id)?.update(spec);
    this.#refresh();
  }

  /** The health check connects to those that it has not asked yet. */
  askAgain(): void {
    for (const backend of this.#all.values()) if (backend.question !== undefined) backend.isOut = true;
    this.#refresh();
  }

  /** The connections that other processes have. */
  setElsewhere(counts: ConnectionCounts): void {
    for (const backend of this.#all.values()) backend.elsewhere = counts[backend.id] ?? 0;
    this.#refresh();
  }

  /** The backend for the next connection of this client, counted as an attempt; undefined when none is available. */
  next(address: string): Backend | undefined {
    if (this.#candidates.length === 0) return undefined;
    const index = choose[this.#strategy]({ candidates: this.#candidates, turn: this.#turn++, address });
    const backend = this.#candidates[index] as Backend;
    backend.connections += 1;
    backend.attempts += 1;
    if (backend.connections + backend.elsewhere >= this.#limit) this.#refresh();
    return backend;
  }

  connected(backend: Backend): void {
    backend.attempts -= 1;
    backend.total += 1;
  }

  /** Counts a connection migrated from another process. Its backend may have been removed here; then it is counted apart. */
  adopted(id: string): Backend {
    const backend = this.#all.get(id) ?? new Backend(id, 0);
    backend.connections += 1;
    return backend;
  }

  refused(backend: Backend): void {
    backend.attempts -= 1;
    backend.refused += 1;
    const wasOut = backend.isOut;
    backend.isOut = true;
    this.closed(backend);
    if (!wasOut) this.#refresh();
  }

  /** The attempt failed for lack of resources of the balancer. */
  abandoned(backend: Backend): void {
    backend.attempts -= 1;
    this.closed(backend);
  }

  /** The health check has connected to it. */
  accepts(backend: Backend): void {
    backend.isOut = false;
    this.#refresh();
  }

  closed(backend: Backend): void {
    backend.connections -= 1;
    if (backend.connections + backend.elsewhere === this.#limit - 1) this.#refresh();
  }

  #refresh(): void {
    this.#candidates = this.all.filter(
      ({ isEligible, connections, elsewhere }) => isEligible && connections + elsewhere < this.#limit,
    );
  }
}

/** The backends of one common port: who may get connections, and who gets the next. */
import type { BackendReport, BackendSpec, BackendState, Strategy } from "../contract/balancer-protocol.ts";
import { type Candidate, choose, seedOf } from "./strategies.ts";

export class Backend implements Candidate {
  readonly id: string;
  readonly seed: number;
  port: number;
  state: BackendState = "down";
  /** It has just come up, or refused a connection: it gets none until it was seen to accept one. */
  isOut = true;
  /** Under way or open. */
  connections = 0;
  /** Under way. */
  attempts = 0;
  total = 0;
  refused = 0;
  bytesIn = 0;
  bytesOut = 0;

  constructor(id: string, port: number) {
    this.id = id;
    this.port = port;
    this.seed = seedOf(id);
  }

  get isEligible(): boolean {
    return this.state === "up" && !this.isOut;
  }

  report(): BackendReport {
    const { id, connections, attempts, total, refused, bytesIn, bytesOut } = this;
    return { id, accepting: this.isEligible, connections: connections - attempts, total, bytesIn, bytesOut, refused };
  }
}

export class Backends {
  #strategy: Strategy;
  #all = new Map<string, Backend>();
  #candidates: readonly Backend[] = [];
  #turn: number;
  /** Connections of one at a time. */
  #limit = Number.POSITIVE_INFINITY;

  /** `turn`: where round robin begins, so that two processes don't begin with the same one. */
  constructor(strategy: Strategy, turn = 0) {
    this.#strategy = strategy;
    this.#turn = turn;
  }

  get all(): readonly Backend[] {
    return [...this.#all.values()];
  }

  /** Attempts to connect to one that shall get no connection are still under way. */
  get isSettling(): boolean {
    return this.all.some(({ state, attempts }) => state !== "up" && attempts > 0);
  }

  /** Up, but not seen to accept. */
  get unproven(): readonly Backend[] {
    return this.all.filter(({ state, isOut }) => state === "up" && isOut);
  }

  /** Somebody may get a connection. */
  get hasRoom(): boolean {
    return this.#candidates.length > 0;
  }

  /** From now on these. `limit`: most connections of one at a time. */
  set(strategy: Strategy, specs: readonly BackendSpec[], limit = Number.POSITIVE_INFINITY): void {
    this.#strategy = strategy;
    this.#limit = limit;
    this.#all = new Map(specs.map((spec) => [spec.id, this.#all.get(spec.id) ?? new Backend(spec.id, spec.port)]));
    for (const { id, port, state } of specs) {
      const backend = this.#all.get(id) as Backend;
      if (backend.state !== state || backend.port !== port) backend.isOut = true;
      backend.state = state;
      backend.port = port;
    }
    this.#refresh();
  }

  /** Whoever gets the next connection of this client; it counts as under way. undefined: nobody is there. */
  next(address: string): Backend | undefined {
    if (this.#candidates.length === 0) return undefined;
    const index = choose[this.#strategy]({ candidates: this.#candidates, turn: this.#turn++, address });
    const backend = this.#candidates[index] as Backend;
    backend.connections += 1;
    backend.attempts += 1;
    if (backend.connections >= this.#limit) this.#refresh();
    return backend;
  }

  connected(backend: Backend): void {
    backend.attempts -= 1;
    backend.total += 1;
  }

  /** A connection to it that another process has had so far. One that is not there any more serves its last ones. */
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

  /** The attempt failed for a reason of our own. */
  abandoned(backend: Backend): void {
    backend.attempts -= 1;
    this.closed(backend);
  }

  /** It was seen to accept. */
  accepts(backend: Backend): void {
    backend.isOut = false;
    this.#refresh();
  }

  closed(backend: Backend): void {
    backend.connections -= 1;
    if (backend.connections === this.#limit - 1) this.#refresh();
  }

  #refresh(): void {
    this.#candidates = this.all.filter(({ isEligible, connections }) => isEligible && connections < this.#limit);
  }
}

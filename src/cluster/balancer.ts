/** The balancer's first process: opens the ports, and serves them together with its mates. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Front, FrontReport } from "../contract/balancer-protocol.ts";
import type { Mate } from "./crew.ts";
import { Evening } from "./evening.ts";
import { Listener } from "./listener.ts";
import { Placement } from "./placement.ts";
import { merged } from "./reports.ts";
import type { Handle } from "./sockets.ts";
import type { Worker } from "./worker.ts";

/** So long connections may take to end once nothing is served any more. Milliseconds. */
const CLOSE_MS = 5_000;
const CLOSE_LOOK_MS = 20;

/** A successor has started by then, or isn't fit. Milliseconds. */
const SUCCESSION_MS = 30_000;
/** Processes that count from the same moment on have their figures within this. Milliseconds. */
const MOMENT_MS = 10;

export type Estate = { readonly fronts: readonly Front[]; readonly sockets: ReadonlyMap<string, Handle> };

export class Balancer {
  readonly #worker: Worker;
  readonly #mates: readonly Mate[];
  readonly #changed: () => void;
  readonly #evening: Evening;
  readonly #placement = new Placement();
  readonly #listeners = new Map<string, Listener>();
  #fronts: readonly Front[] = [];
  #looking: NodeJS.Timeout | undefined;

  constructor(worker: Worker, mates: readonly Mate[], changed: () => void) {
    this.#worker = worker;
    this.#mates = mates;
    this.#changed = changed;
    this.#evening = new Evening(worker, mates);
  }

  /** A process has new figures. Who has begun at the same time has its own a moment later. */
  even(): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      const isEvening = this.#evening.look();
      this.#placement.look([this.#worker, ...this.#mates], { isEvening });
    }, MOMENT_MS);
  }

  /** Resolves when who is started by it may run wherever it could at first. */
  async unbind(): Promise<void> {
    await this.#placement.free(SUCCESSION_MS);
  }

  get report(): readonly FrontReport[] {
    return merged([this.#worker.reports, ...this.#mates.filter(({ isGone }) => !isGone).map(({ reports }) => reports)]).map((front) => {
      const problem = this.#listeners.get(front.id)?.problem;
      return problem === undefined ? front : { ...front, problem };
    });
  }

  /** What it goes by, and the sockets on which it takes clients: for a successor. */
  get estate(): Estate {
    const sockets = this.#fronts.flatMap(({ id }) => {
      const socket = this.#worker.socket(id);
      return socket === undefined ? [] : [[id, socket] as const];
    });
    return { fronts: this.#fronts, sockets: new Map(sockets) };
  }

  /** Resolves when all processes have taken it up. `inherited`: sockets that listen already. */
  async apply(fronts: readonly Front[], inherited?: Estate["sockets"]): Promise<void> {
    this.#fronts = fronts;
    for (const [id, listener] of this.#listeners) if (!fronts.some((front) => front.id === id && listener.serves(front))) this.#close(id);
    for (const { id } of fronts) this.#share(id);
    const applied = [this.#worker, ...this.#mates].map((each) => each.apply(fronts));
    for (const front of fronts) if (!this.#listeners.has(front.id)) this.#open(front, inherited?.get(front.id));
    await Promise.all(applied);
  }

  /** Serves nobody any more; resolves when the last connection has ended, or has had its time. */
  async close(): Promise<void> {
    await this.#leave("close");
    await this.#emptied(() => true);
  }

  /** Another one takes the clients of now. Resolves when the last one here has gone; once `isOver`, when it has had its time. */
  async retire(isOver: () => boolean): Promise<void> {
    await this.#leave("retire");
    await this.#emptied(isOver);
  }

  async #leave(how: "close" | "retire"): Promise<void> {
    void this.#placement.free(Number.POSITIVE_INFINITY);
    await this.#evening.end();
    for (const id of [...this.#listeners.keys()]) this.#close(id);
    this.#worker[how]();
    await Promise.all(this.#mates.map((mate) => mate.leave(how)));
  }

  async #emptied(isOver: () => boolean): Promise<void> {
    let late = Number.POSITIVE_INFINITY;
    for (; this.#clients > 0 && performance.now() < late; await sleep(CLOSE_LOOK_MS))
      if (late === Number.POSITIVE_INFINITY && isOver()) late = performance.now() + CLOSE_MS;
    await Promise.all(this.#mates.map((mate) => mate.end()));
  }

  get #clients(): number {
    return this.#mates.reduce((sum, { clients }) => sum + clients, this.#worker.clients);
  }

  #open(front: Front, inherited: Handle | undefined): void {
    const { id } = front;
    const bound = (socket: Handle): number => {
      const status = this.#worker.listen(id, socket);
      if (status === 0) this.#share(id);
      return status;
    };
    this.#listeners.set(id, new Listener(front, { bound, changed: this.#changed, inherited }));
  }

  /** All processes take clients; where connections are limited the first does alone, as it can only count its own. */
  #share(id: string): void {
    const socket = this.#worker.socket(id);
    if (socket === undefined) return;
    const isShared = this.#fronts.find((front) => front.id === id)?.maxConnections === undefined;
    for (const mate of this.#mates) isShared ? mate.listen(id, socket) : mate.unlisten(id);
  }

  #close(id: string): void {
    this.#listeners.get(id)?.close();
    this.#listeners.delete(id);
    this.#worker.unlisten(id);
    for (const mate of this.#mates) mate.unlisten(id);
  }
}

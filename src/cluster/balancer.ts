/** The balancer's first process: opens the ports, and serves them together with its mates. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Front, FrontReport } from "../contract/balancer-protocol.ts";
import type { Mate } from "./crew.ts";
import { Listener } from "./listener.ts";
import { merged } from "./reports.ts";
import type { Worker } from "./worker.ts";

/** So long connections may take to end once nothing is served any more. Milliseconds. */
const CLOSE_MS = 5_000;
const CLOSE_LOOK_MS = 20;

export class Balancer {
  readonly #worker: Worker;
  readonly #mates: readonly Mate[];
  readonly #changed: () => void;
  readonly #listeners = new Map<string, Listener>();

  constructor(worker: Worker, mates: readonly Mate[], changed: () => void) {
    this.#worker = worker;
    this.#mates = mates;
    this.#changed = changed;
  }

  get report(): readonly FrontReport[] {
    return merged([this.#worker.reports, ...this.#mates.map(({ reports }) => reports)]).map((front) => {
      const problem = this.#listeners.get(front.id)?.problem;
      return problem === undefined ? front : { ...front, problem };
    });
  }

  /** Resolves when all processes have taken it up. */
  async apply(fronts: readonly Front[]): Promise<void> {
    for (const [id, listener] of this.#listeners) if (!fronts.some((front) => front.id === id && listener.serves(front))) this.#close(id);
    const applied = [this.#worker, ...this.#mates].map((each) => each.apply(fronts));
    for (const front of fronts) if (!this.#listeners.has(front.id)) this.#open(front);
    await Promise.all(applied);
  }

  /** Serves nobody any more; resolves when the last connection has ended, or has had its time. */
  async close(): Promise<void> {
    for (const id of [...this.#listeners.keys()]) this.#close(id);
    this.#worker.close();
    await Promise.all(this.#mates.map((mate) => mate.close()));
    for (const late = performance.now() + CLOSE_MS; performance.now() < late && this.#connections > 0; ) await sleep(CLOSE_LOOK_MS);
    await Promise.all(this.#mates.map((mate) => mate.end()));
  }

  get #connections(): number {
    return this.#mates.reduce((sum, { connections }) => sum + connections, this.#worker.connections);
  }

  #open(front: Front): void {
    const { id } = front;
    const bound = (socket: Parameters<Worker["listen"]>[1]): number => {
      const status = this.#worker.listen(id, socket);
      if (status === 0) for (const mate of this.#mates) mate.listen(id, socket);
      return status;
    };
    this.#listeners.set(id, new Listener(front, { bound, changed: this.#changed }));
  }

  #close(id: string): void {
    this.#listeners.get(id)?.close();
    this.#listeners.delete(id);
    this.#worker.unlisten(id);
    for (const mate of this.#mates) mate.unlisten(id);
  }
}

/**
 * Under load each process of the balancer keeps to a processor of its own, where it has as many as the machine: the kernel often
 * wakes two on the same one, and then every client waits for both. With less to do they run wherever there is time first.
 */
import { bind, processorsOf, unbind } from "../os/processors.ts";
import type { Load } from "./shares.ts";

/** As much of a core they use, in the mean, before they are bound, and while they are. */
const BUSY = 0.35;
const STILL_BUSY = 0.25;
/** One that gets less than this part of what another one gets has somebody else on its processor. */
const EVEN = 0.5;
/** So long they are uneven before that counts: connections that have just come may be many in one of them. Milliseconds. */
const STEADY_MS = 400;
/** Then they are free for so long; after less to do for so long. Milliseconds. */
const AGAIN_MS = 5_000;
const REST_MS = 1_000;
/** Where binding fails it is tried again after so long. Milliseconds. */
const IN_VAIN_MS = 60_000;

/** One process of the balancer. */
export type Member = { readonly pid: number; readonly load: Load };

export class Placement {
  readonly #processors: readonly number[];
  #bound: readonly number[] = [];
  /** Since then one gets far less than another one. */
  #unevenSince: number | undefined;
  #notBefore = 0;
  #hasBound = false;
  readonly #known = new Set<number>();
  #change: Promise<void> = Promise.resolve();

  /** `processors`: those that all of them may use. */
  constructor(processors = processorsOf(process.pid)) {
    this.#processors = processors;
  }

  /** There are new figures. `isEvening`: they are uneven by connections that are on their way already. `now`: monotonic milliseconds. */
  look(members: readonly Member[], { isEvening = false, now = performance.now() } = {}): void {
    if (members.length < 2 || members.length !== this.#processors.length) return;
    this.#receive(members);
    const cpus = members.map(({ load }) => load.cpu);
    const [least, most] = [Math.min(...cpus), Math.max(...cpus)];
    const isBound = this.#bound.length > 0;
    const mean = cpus.reduce((sum, cpu) => sum + cpu, 0) / cpus.length;
    const isEven = least >= EVEN * most;
    this.#unevenSince = isEven ? undefined : (this.#unevenSince ?? now);
    if (!isBound) {
      if (mean >= BUSY && (isEven || isEvening) && now >= this.#notBefore) this.#bind(members.map(({ pid }) => pid));
    } else if (mean < STILL_BUSY) this.#release(now, REST_MS);
    else if (now - (this.#unevenSince ?? now) >= STEADY_MS) this.#release(now, AGAIN_MS);
  }

  /** Resolves when they, and whoever they start within `forMs`, may run anywhere. */
  async free(forMs: number, now = performance.now()): Promise<void> {
    this.#release(now, forMs);
    await this.#change;
  }

  #release(now: number, forMs: number): void {
    this.#notBefore = Math.max(this.#notBefore, now + forMs);
    const bound = this.#bound;
    this.#bound = [];
    if (bound.length > 0) this.#then(bound, (pid) => unbind(pid, this.#processors));
  }

  /** One that has come in place of another was started by one that was bound, perhaps. */
  #receive(members: readonly Member[]): void {
    const strange = members.map(({ pid }) => pid).filter((pid) => !this.#known.has(pid));
    for (const pid of strange) this.#known.add(pid);
    if (this.#hasBound && strange.length > 0) this.#then(strange, (pid) => unbind(pid, this.#processors));
  }

  #bind(pids: readonly number[]): void {
    this.#bound = pids;
    this.#hasBound = true;
    this.#then(pids, (pid, index) => bind(pid, this.#processors.slice(index, index + 1)));
  }

  /** One change after the other. */
  #then(pids: readonly number[], change: (pid: number, index: number) => Promise<void>): void {
    this.#change = this.#change.then(async () => {
      const results = await Promise.allSettled(pids.map(change));
      // No taskset(1), or one of them has ended.
      if (results.some(({ status }) => status === "rejected")) this.#notBefore = Math.max(this.#notBefore, performance.now() + IN_VAIN_MS);
    });
  }
}

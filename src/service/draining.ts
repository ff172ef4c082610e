/** Who gets connections of the load balancer is told to end only when no new one comes, and when it has accepted those that did. */
import { setTimeout as sleep } from "node:timers/promises";
import { allListeners } from "../os/listeners.ts";
import type { Spawner } from "../supervisor/ports.ts";
import { type Owed, readOwed } from "./owed.ts";

/** Memory of whom a SIGTERM or a message is owed that waits for the balancer. */
const OWED = ":owed";
/** The balancer has this long to say that nobody new is sent there, and the instance to accept; then SIGTERM comes all the same. Milliseconds. */
const DRAIN_MS = 1_000;
/** Connections that were made until then wait in the instance's accept queue, which a close would reset. Milliseconds. */
const QUEUE_MS = 50;

export type DrainingPorts = {
  /** Resolves when the balancer has heard who shall get no connection; undefined: there is none. */
  readonly told: () => Promise<void> | undefined;
  /** Where an instance listens. */
  readonly port: (slot: string) => number | undefined;
  readonly remember: (id: string, memory: unknown) => void;
};

export class Draining {
  readonly #ports: DrainingPorts;
  readonly #owed = new Map<string, Owed>();
  spawner: Pick<Spawner, "signal" | "drain"> | undefined;

  constructor(ports: DrainingPorts) {
    this.#ports = ports;
  }

  /** It gets what it is owed when it may. */
  add(owed: Owed): void {
    this.#owed.set(owed.slot, owed);
    this.#note();
    void this.#carryOut(owed);
  }

  /** A service was killed while somebody waited for its SIGTERM. */
  resume(notes: Readonly<Record<string, string>>): void {
    for (const owed of readOwed(notes[OWED])) this.add(owed);
  }

  async #carryOut(owed: Owed): Promise<void> {
    const { slot, run, signal = "SIGTERM", drain } = owed;
    await Promise.race([this.#ports.told(), sleep(DRAIN_MS)]);
    const late = performance.now() + DRAIN_MS;
    do await sleep(QUEUE_MS);
    while (this.#isQueuing(slot) && performance.now() < late);
    if (this.#owed.get(slot) === owed) this.#owed.delete(slot);
    this.#note();
    if (drain === true) this.spawner?.drain(slot, run);
    else this.spawner?.signal(slot, run, signal);
  }

  /** Where the kernel doesn't tell, who is not served by now is taken for nobody. */
  #isQueuing(slot: string): boolean {
    const port = this.#ports.port(slot);
    return allListeners(true).some((listener) => listener.port === port && listener.queued > 0);
  }

  #note(): void {
    const owed = [...this.#owed.values()];
    this.#ports.remember(OWED, owed.length === 0 ? "" : owed);
  }
}

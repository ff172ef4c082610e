/** Who gets connections of the load balancer is told to end only when no new one comes, and when it has accepted those that did. */
import { setTimeout as sleep } from "node:timers/promises";
import { allListeners } from "../../os/port-owner.ts";
import type { Spawner } from "../../supervisor/ports.ts";
import type { NoteStore, PendingStop } from "../recovery/notes.ts";

/** The balancer has this long to say that nobody new is sent there, and the instance to accept; then SIGTERM comes all the same. Milliseconds. */
const DRAIN_MS = 1_000;
/** Connections that were made until then wait in the instance's accept queue, which a close would reset. Milliseconds. */
const QUEUE_MS = 50;

export type ConnectionDrainPorts = {
  /** Resolves when the balancer has heard who shall get no connection; undefined: there is none. */
  readonly told: () => Promise<void> | undefined;
  /** Where an instance listens. */
  readonly port: (slot: string) => number | undefined;
  readonly notes: NoteStore;
};

export class ConnectionDrain {
  readonly #ports: ConnectionDrainPorts;
  readonly #owed = new Map<string, PendingStop>();
  spawner: Pick<Spawner, "signal" | "drain"> | undefined;

  constructor(ports: ConnectionDrainPorts) {
    this.#ports = ports;
  }

  /** It gets what it is owed when it may. */
  add(owed: PendingStop): void {
    this.#owed.set(owed.slot, owed);
    this.#note();
    void this.#carryOut(owed);
  }

  /** A service was killed while somebody waited for its SIGTERM. */
  resume(): void {
    for (const owed of this.#ports.notes.read(":owed") ?? []) this.add(owed);
  }

  async #carryOut(owed: PendingStop): Promise<void> {
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
    if (owed.length === 0) this.#ports.notes.remove(":owed");
    else this.#ports.notes.write(":owed", owed);
  }
}

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
  readonly applied: () => Promise<void> | undefined;
  /** Where an instance listens. */
  readonly port: (slot: string) => number | undefined;
  readonly notes: NoteStore;
};

export class ConnectionDrain {
  readonly #ports: ConnectionDrainPorts;
  readonly #pending = new Map<string, PendingStop>();
  spawner: Pick<Spawner, "signal" | "drain"> | undefined;

  constructor(ports: ConnectionDrainPorts) {
    this.#ports = ports;
  }

  /** It gets what it is owed when it may. */
  add(stop: PendingStop): void {
    this.#pending.set(stop.slot, stop);
    this.#note();
    void this.#stopWhenDrained(stop);
  }

  /** A service was killed while somebody waited for its SIGTERM. */
  resume(): void {
    for (const stop of this.#ports.notes.read(":owed") ?? []) this.add(stop);
  }

  async #stopWhenDrained(stop: PendingStop): Promise<void> {
    const { slot, run, signal = "SIGTERM", drain } = stop;
    await Promise.race([this.#ports.applied(), sleep(DRAIN_MS)]);
    const limit = performance.now() + DRAIN_MS;
    do await sleep(QUEUE_MS);
    while (this.#isQueuing(slot) && performance.now() < limit);
    if (this.#pending.get(slot) === stop) this.#pending.delete(slot);
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
    const stops = [...this.#pending.values()];
    if (stops.length === 0) this.#ports.notes.remove(":owed");
    else this.#ports.notes.write(":owed", stops);
  }
}

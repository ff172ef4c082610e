/** Connection draining: an instance gets its stop signal when the balancer sends no new connections and it has accepted those on their way. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessSpec } from "../../config/spec.ts";
import { allListeners, SHARED_SCAN_MS } from "../../os/listening-ports.ts";
import { unlessShort } from "../../os/shortage.ts";
import type { NoteStore, PendingStop } from "../recovery/notes.ts";

/** Limit for the balancer's confirmation, and then for the instance to accept. After it the stop signal is sent anyway. Milliseconds. */
const DRAIN_MS = 1_000;
/** Interval at which the accept queue is checked: closing the socket would reset the connections in it. Milliseconds. */
const QUEUE_MS = 50;

export type ConnectionDrainPorts = {
  /** Resolves when the balancer has applied the present states; undefined: there is no balancer. */
  readonly applied: () => Promise<void> | undefined;
  /** The specification of an instance; undefined: it is gone. */
  readonly find: (slot: string) => Pick<ProcessSpec, "cluster"> | undefined;
  /** Sends the stop to its run. */
  readonly send: (stop: PendingStop) => void;
  readonly notes: NoteStore;
};

export class ConnectionDrain {
  readonly #ports: ConnectionDrainPorts;
  readonly #pending = new Map<string, PendingStop>();

  constructor(ports: ConnectionDrainPorts) {
    this.#ports = ports;
  }

  /** Sends the stop when the connections are drained. */
  add(stop: PendingStop): void {
    this.#pending.set(stop.slot, stop);
    this.#note();
    void this.#stopWhenDrained(stop);
  }

  /** Resumes the pending stops of a service that was killed. */
  resume(): void {
    for (const stop of this.#ports.notes.read(":owed") ?? []) this.add(stop);
  }

  async #stopWhenDrained(stop: PendingStop): Promise<void> {
    const { slot } = stop;
    await Promise.race([this.#ports.applied(), sleep(DRAIN_MS)]);
    const limit = performance.now() + DRAIN_MS;
    do await sleep(QUEUE_MS);
    while (this.#isQueuing(slot) && performance.now() < limit);
    if (this.#pending.get(slot) === stop) this.#pending.delete(slot);
    this.#note();
    // Its run may have ended meanwhile, and a reload removed it.
    if (this.#ports.find(slot) !== undefined) this.#ports.send(stop);
  }

  /** Connections wait in the accept queue, or it can't be looked up now. Where the kernel doesn't show queues, none are assumed. */
  #isQueuing(slot: string): boolean {
    const port = this.#ports.find(slot)?.cluster?.port;
    const listeners = unlessShort(() => allListeners({ maxAgeMs: SHARED_SCAN_MS }));
    return listeners?.some((listener) => listener.port === port && listener.queued > 0) ?? true;
  }

  #note(): void {
    const stops = [...this.#pending.values()];
    if (stops.length === 0) this.#ports.notes.remove(":owed");
    else this.#ports.notes.write(":owed", stops);
  }
}

/** Connection draining: an instance gets its stop signal when the balancer sends no new connections and it has accepted those on their way. */
import { setTimeout as sleep } from "node:timers/promises";
import { ownPort } from "../../config/cluster-variables.ts";
import { allListeners, SHARED_SCAN_MS } from "../../os/listening-ports.ts";
import { unlessShort } from "../../os/shortage.ts";
import type { PendingStop } from "../recovery/notes.ts";
import type { Services } from "../services.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";

/** Limit for the balancer's confirmation, and then for the instance to accept. After it the stop signal is sent anyway. Milliseconds. */
const DRAIN_MS = 1_000;
/** Interval at which the accept queue is checked: closing the socket would reset the connections in it. Milliseconds. */
const QUEUE_MS = 50;

export class ConnectionDrain {
  readonly #services: Pick<Services, "notes" | "specs">;
  readonly #spawner: Pick<KeeperSpawner, "sendStop">;
  readonly #applied: () => Promise<void> | undefined;
  readonly #pending = new Map<string, PendingStop>();

  /** `applied`: resolves when the balancer has applied the present states; undefined: there is no balancer. */
  constructor(
    services: Pick<Services, "notes" | "specs">,
    spawner: Pick<KeeperSpawner, "sendStop">,
    applied: () => Promise<void> | undefined,
  ) {
    this.#services = services;
    this.#spawner = spawner;
    this.#applied = applied;
  }

  /** Sends the stop when the connections are drained. */
  add(stop: PendingStop): void {
    this.#pending.set(stop.slot, stop);
    this.#note();
    void this.#stopWhenDrained(stop);
  }

  /** Resumes the pending stops of a service that was killed. */
  resume(): void {
    for (const stop of this.#services.notes.read(":owed") ?? []) this.add(stop);
  }

  async #stopWhenDrained(stop: PendingStop): Promise<void> {
    const { slot } = stop;
    await Promise.race([this.#applied(), sleep(DRAIN_MS)]);
    const limit = performance.now() + DRAIN_MS;
    do await sleep(QUEUE_MS);
    while (this.#isQueuing(slot) && performance.now() < limit);
    if (this.#pending.get(slot) === stop) this.#pending.delete(slot);
    this.#note();
    // Its run may have ended meanwhile, and a reload removed it.
    if (this.#services.specs.find(slot) !== undefined) this.#spawner.sendStop(stop);
  }

  /** Connections wait in the accept queue, or it can't be looked up now. Where the kernel doesn't show queues, none are assumed. */
  #isQueuing(slot: string): boolean {
    const spec = this.#services.specs.find(slot);
    const port = spec && ownPort(spec);
    const listeners = unlessShort(() => allListeners({ maxAgeMs: SHARED_SCAN_MS }));
    return listeners?.some((listener) => listener.port === port && listener.queued > 0) ?? true;
  }

  #note(): void {
    const stops = [...this.#pending.values()];
    if (stops.length === 0) this.#services.notes.remove(":owed");
    else this.#services.notes.write(":owed", stops);
  }
}

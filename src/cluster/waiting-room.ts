/** Clients for whom no backend is there: they wait for one, but not for ever, and not without number. */
import type { Handle } from "./sockets.ts";

/** A client that has come, from where, and when. */
export type Visit = { readonly client: Handle; readonly address: string; readonly port: number; readonly since: number };

/** How long, and how many in one process. */
const PATIENCE_MS = 10_000;
const SEATS = 4_096;

export class WaitingRoom {
  readonly #place: (visit: Visit) => void;
  #visits: Visit[] = [];
  /** Clients that waited in vain, found no seat, or were turned away. */
  rejected = 0;

  constructor(place: (visit: Visit) => void) {
    this.#place = place;
  }

  get waiting(): number {
    return this.#visits.length;
  }

  add(visit: Visit): void {
    if (this.#visits.length >= SEATS || performance.now() - visit.since > PATIENCE_MS) return this.#reject(visit);
    this.#visits.push(visit);
  }

  /** Somebody accepts: to all who wait. Who finds nobody in the end waits again, with the patience that is left. */
  serve(): void {
    const visits = this.#visits;
    this.#visits = [];
    for (const visit of visits) this.#place(visit);
  }

  look(now: number): void {
    if (this.#visits.length === 0) return;
    const late = this.#visits.filter(({ since }) => now - since > PATIENCE_MS);
    this.#visits = this.#visits.filter(({ since }) => now - since <= PATIENCE_MS);
    for (const visit of late) this.#reject(visit);
    // Some wait for want of ports or descriptors of our own, and of that nobody tells.
    this.serve();
  }

  close(): void {
    for (const visit of this.#visits) this.#reject(visit);
    this.#visits = [];
  }

  turnAway(client: Handle): void {
    this.rejected += 1;
    client.close();
  }

  #reject({ client }: Visit): void {
    this.turnAway(client);
  }
}

/** Clients for which no backend is available. They wait for one for a limited time, and their number is limited. */
import type { TcpHandle } from "./tcp-handle.ts";

/** `since`: monotonic milliseconds. */
export type PendingClient = { readonly client: TcpHandle; readonly address: string; readonly port: number; readonly since: number };

const TIMEOUT_MS = 10_000;
/** In each process. */
const CAPACITY = 4_096;

export class PendingQueue {
  readonly #place: (client: PendingClient) => void;
  #clients: PendingClient[] = [];
  /** Clients closed because they waited too long, the queue was full, or the process had no file descriptor left. */
  rejected = 0;

  constructor(place: (client: PendingClient) => void) {
    this.#place = place;
  }

  get size(): number {
    return this.#clients.length;
  }

  add(client: PendingClient): void {
    if (this.#clients.length >= CAPACITY || performance.now() - client.since > TIMEOUT_MS) return this.reject(client.client);
    this.#clients.push(client);
  }

  /** A backend is available: places all clients. Those without a backend are queued again and keep their time of arrival. */
  placeAll(): void {
    const clients = this.#clients;
    this.#clients = [];
    for (const client of clients) this.#place(client);
  }

  rejectLate(now: number): void {
    if (this.#clients.length === 0) return;
    const expired = this.#clients.filter(({ since }) => now - since > TIMEOUT_MS);
    this.#clients = this.#clients.filter(({ since }) => now - since <= TIMEOUT_MS);
    for (const { client } of expired) this.reject(client);
    // Some wait because ports or file descriptors had run out; no event tells when they are available again.
    this.placeAll();
  }

  close(): void {
    for (const { client } of this.#clients) this.reject(client);
    this.#clients = [];
  }

  reject(client: TcpHandle): void {
    this.rejected += 1;
    client.close();
  }
}

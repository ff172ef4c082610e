/** Clients for which no backend is available. They wait for one for a limited time, and their number is limited. */
import { shared } from "./buffer-pool.ts";
import type { SocketName, Tcp, TcpHandle } from "./tcp-handle.ts";

/** A client without a backend. */
export class PendingClient {
  readonly client: TcpHandle;
  readonly address: string;
  readonly port: number;
  /** Monotonic milliseconds. */
  readonly since = performance.now();
  /** Whether it wakes instances that sleep, and keeps them awake. */
  readonly counts: boolean;
  /** The first bytes that it has sent while it waited. */
  head: Buffer | undefined;
  /** Whether the client has ended without having sent anything, or with a reset. */
  #isGone = false;
  #isWatched = false;

  constructor(client: TcpHandle, { address = "", port = 0 }: SocketName, counts = true) {
    this.client = client;
    this.address = address;
    this.port = port;
    this.counts = counts;
  }

  /** After its first bytes it isn't read any more, and only a reset shows. */
  get isGone(): boolean {
    return this.#isGone || (this.#isWatched && this.client.getpeername({}) < 0);
  }

  /** Reads, to notice its first bytes, and when it goes. */
  watch(tcp: Tcp, on: { readonly gone: () => void; readonly spoke: () => void }): void {
    if (this.head !== undefined) return;
    if (!this.#isWatched)
      tcp.setOwner(this.client, { onRead: (count) => this.#onRead(count, on), onWritten: none, onShutdown: none });
    this.#isWatched = true;
    this.client.useUserBuffer(shared);
    this.client.readStart();
  }

  unwatch(): void {
    if (this.#isWatched) this.client.readStop();
  }

  #onRead(count: number, on: { readonly gone: () => void; readonly spoke: () => void }): undefined {
    if (count === 0) return;
    this.client.readStop();
    if (count > 0) {
      this.head = Buffer.from(shared.subarray(0, count));
      on.spoke();
    } else {
      this.#isGone = true;
      on.gone();
    }
  }
}

function none(): void {}

/** Unless the front has a limit. Milliseconds. */
export const PENDING_MS = 10_000;
/** In each process. */
const CAPACITY = 4_096;

export type PendingQueueBackends = {
  /** A backend may get a connection. */
  readonly hasRoom: () => boolean;
  readonly place: (client: PendingClient) => void;
  /** A client waits, or has sent its first bytes. */
  readonly came: () => void;
};

export class PendingQueue {
  readonly #tcp: Tcp;
  readonly #backends: PendingQueueBackends;
  #clients: PendingClient[] = [];
  /** Clients closed because they waited too long, the queue was full, or the process had no file descriptor left. */
  rejected = 0;
  /** How long a client waits. Milliseconds. */
  limitMs = PENDING_MS;
  #dropping: NodeJS.Immediate | undefined;

  constructor(tcp: Tcp, backends: PendingQueueBackends) {
    this.#tcp = tcp;
    this.#backends = backends;
  }

  get size(): number {
    return this.#clients.length;
  }

  /** Clients that wake instances which sleep. */
  waking(on: "connect" | "data"): number {
    return this.#clients.filter(({ counts, head }) => counts && (on === "connect" || head !== undefined)).length;
  }

  add(client: PendingClient): void {
    if (this.#clients.length >= CAPACITY || performance.now() - client.since > this.limitMs)
      return this.reject(client.client);
    this.#clients.push(client);
    client.watch(this.#tcp, { gone: () => this.#dropGoneSoon(), spoke: this.#backends.came });
    this.#backends.came();
  }

  /** Places clients, the first first, while a backend has room: the others are not looked at. One that comes back waits for the next call. */
  admit(): void {
    for (let count = this.#clients.length; count > 0 && this.#backends.hasRoom(); count--) {
      const client = this.#clients.shift() as PendingClient;
      client.unwatch();
      if (client.isGone) client.client.close();
      else this.#backends.place(client);
    }
  }

  rejectLate(now: number): void {
    if (this.#clients.length === 0) return;
    const expired = this.#clients.filter(({ since }) => now - since > this.limitMs);
    this.#clients = this.#clients.filter(({ since }) => now - since <= this.limitMs);
    this.rejected += expired.length;
    // Without a reset the end of the connection looks like an empty answer.
    for (const { client } of expired) client.reset();
    this.#dropGone();
    // Some wait because ports or file descriptors had run out; no event tells when they are available again.
    this.admit();
  }

  /** Soon, once for all that go at a time. */
  #dropGoneSoon(): void {
    this.#dropping ??= setImmediate(() => {
      this.#dropping = undefined;
      this.#dropGone();
    });
  }

  #dropGone(): void {
    const gone = new Set(this.#clients.filter(({ isGone }) => isGone));
    if (gone.size > 0) this.#clients = this.#clients.filter((client) => !gone.has(client));
    for (const { client } of gone) client.close();
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

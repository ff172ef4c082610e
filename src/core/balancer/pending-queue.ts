/** Clients for which no backend is available. They wait for one for a limited time, and their number is limited. */
import { shared } from "./buffer-pool.ts";
import type { Tcp, TcpHandle } from "./tcp-handle.ts";

/** A client without a backend. */
export class PendingClient {
  readonly client: TcpHandle;
  readonly address: string;
  readonly port: number;
  /** Monotonic milliseconds. */
  readonly since = performance.now();
  /** The first bytes that it has sent while it waited. */
  head: Buffer | undefined;
  /** Whether the client has ended without having sent anything, or with a reset. */
  #isGone = false;
  #isWatched = false;

  constructor(client: TcpHandle, address: string, port: number) {
    this.client = client;
    this.address = address;
    this.port = port;
  }

  /** After its first bytes it isn't read any more, and only a reset shows. */
  get isGone(): boolean {
    return this.#isGone || (this.#isWatched && this.client.getpeername({}) < 0);
  }

  /** Reads, to notice when it goes. */
  watch(tcp: Tcp, gone: () => void): void {
    if (this.head !== undefined) return;
    if (!this.#isWatched)
      tcp.setOwner(this.client, { onRead: (count) => this.#onRead(count, gone), onWritten: none, onShutdown: none });
    this.#isWatched = true;
    this.client.useUserBuffer(shared);
    this.client.readStart();
  }

  unwatch(): void {
    if (this.#isWatched) this.client.readStop();
  }

  #onRead(count: number, gone: () => void): undefined {
    if (count === 0) return;
    this.client.readStop();
    if (count > 0) this.head = Buffer.from(shared.subarray(0, count));
    else {
      this.#isGone = true;
      gone();
    }
  }
}

function none(): void {}

const TIMEOUT_MS = 10_000;
/** In each process. */
const CAPACITY = 4_096;

export type PendingQueueBackends = {
  /** A backend may get a connection. */
  readonly hasRoom: () => boolean;
  readonly place: (client: PendingClient) => void;
};

export class PendingQueue {
  readonly #tcp: Tcp;
  readonly #backends: PendingQueueBackends;
  #clients: PendingClient[] = [];
  /** Clients closed because they waited too long, the queue was full, or the process had no file descriptor left. */
  rejected = 0;
  #dropping: NodeJS.Immediate | undefined;

  constructor(tcp: Tcp, backends: PendingQueueBackends) {
    this.#tcp = tcp;
    this.#backends = backends;
  }

  get size(): number {
    return this.#clients.length;
  }

  add(client: PendingClient): void {
    if (this.#clients.length >= CAPACITY || performance.now() - client.since > TIMEOUT_MS)
      return this.reject(client.client);
    this.#clients.push(client);
    client.watch(this.#tcp, () => this.#dropGoneSoon());
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
    const expired = this.#clients.filter(({ since }) => now - since > TIMEOUT_MS);
    this.#clients = this.#clients.filter(({ since }) => now - since <= TIMEOUT_MS);
    for (const { client } of expired) this.reject(client);
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

/** The open connections of the API: limits those without a valid token, and lets the last answers out. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A connection whose requests have had no valid token may be closed from this number of connections on. */
const CROWDED = 900;

/** `answering`: requests whose answer has not ended. `read`: bytes received when the last answer ended. */
type Use = { answering: number; read: number };

export class Connections {
  readonly #crowded: number;
  readonly #all = new Set<Socket>();
  /** Without a valid token so far; the idlest first. */
  readonly #strangers = new Set<Socket>();
  /** Those that have had a request. */
  readonly #uses = new Map<Socket, Use>();
  #onEmpty: () => void = () => undefined;

  constructor(crowded: number = CROWDED) {
    this.#crowded = crowded;
  }

  add(socket: Socket): void {
    this.addTrusted(socket);
    this.#strangers.add(socket);
    if (this.#all.size <= this.#crowded) return;
    const [idlest] = this.#strangers;
    this.#strangers.delete(idlest as Socket);
    idlest?.destroy();
  }

  /** Of a user who may do everything anyway. */
  addTrusted(socket: Socket): void {
    this.#all.add(socket);
    socket.once("close", () => {
      this.#all.delete(socket);
      this.#strangers.delete(socket);
      this.#uses.delete(socket);
      if (this.#all.size === 0) this.#onEmpty();
    });
  }

  /** A request has begun: the connection isn't idle until its answer ends. */
  used(socket: Socket, response: ServerResponse): void {
    if (this.#strangers.delete(socket)) this.#strangers.add(socket);
    const use = this.#uses.get(socket) ?? { answering: 0, read: 0 };
    this.#uses.set(socket, use);
    use.answering += 1;
    response.once("close", () => {
      use.answering -= 1;
      use.read = socket.bytesRead;
    });
  }

  /** Ends idle connections. A connection without any request isn't idle: clients send their first request at once. */
  closeIdle(): void {
    for (const [socket, { answering, read }] of this.#uses) if (answering === 0 && socket.bytesRead === read) socket.destroy();
  }

  /** A request had a valid token. */
  trust(socket: Socket): void {
    this.#strangers.delete(socket);
  }

  /** Resolves when all are closed, or after this time. */
  async drained(limitMs: number): Promise<void> {
    if (this.#all.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The open connections of the API: limits those without a valid token, and lets the last answers out. */
import type { Socket } from "node:net";

/** A connection whose requests have had no valid token may be closed from this number of connections on. */
const CROWDED = 900;

export class Connections {
  readonly #crowded: number;
  readonly #all = new Set<Socket>();
  /** Without a valid token so far; the idlest first. */
  readonly #strangers = new Set<Socket>();
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
      if (this.#all.size === 0) this.#onEmpty();
    });
  }

  /** A request has begun: the connection isn't idle. */
  used(socket: Socket): void {
    if (this.#strangers.delete(socket)) this.#strangers.add(socket);
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

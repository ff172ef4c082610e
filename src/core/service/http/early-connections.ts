/** Connections that come before the API is loaded: they wait, and are then served. */
import type { Server, Socket } from "node:net";

export class EarlyConnections {
  readonly #waiting = new Set<Socket>();
  readonly #onEarlyConnection: () => void;
  #serve: ((socket: Socket) => void) | undefined;

  constructor(onEarlyConnection: () => void) {
    this.#onEarlyConnection = onEarlyConnection;
  }

  readonly receive = (socket: Socket): void => {
    if (this.#serve !== undefined) return this.#hand(socket, this.#serve);
    this.#waiting.add(socket);
    socket.once("close", () => this.#waiting.delete(socket));
    this.#onEarlyConnection();
  };

  /** Hands the listening socket of `from`, and what waits, over to `to`. */
  async passOn(from: Server, to: Server): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      to.on("error", reject);
      // Both use the same socket, so no client is refused meanwhile.
      to.listen(from, resolve);
    });
    this.forward((socket) => to.emit("connection", socket));
  }

  /** Hands over what waits and what comes later. */
  forward(serve: (socket: Socket) => void): void {
    this.#serve = serve;
    for (const socket of this.#waiting) this.#hand(socket, serve);
    this.#waiting.clear();
  }

  destroy(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  #hand(socket: Socket, serve: (socket: Socket) => void): void {
    serve(socket);
    socket.resume();
  }
}

/** Connections that come before the API is loaded: they wait, and are then served. */
import type { Server, Socket } from "node:net";

export class EarlyConnections {
  readonly #waiting = new Set<Socket>();
  readonly #onEarlyConnection: () => void;
  #http: Server | undefined;

  constructor(onEarlyConnection: () => void) {
    this.#onEarlyConnection = onEarlyConnection;
  }

  readonly receive = (socket: Socket): void => {
    if (this.#http !== undefined) return serve(this.#http, socket);
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
    this.forward(to);
  }

  /** Hands over what waits and what comes later. */
  forward(to: Server): void {
    this.#http = to;
    for (const socket of this.#waiting) serve(to, socket);
    this.#waiting.clear();
  }

  destroy(): void {
    for (const socket of this.#waiting) socket.destroy();
  }
}

function serve(http: Server, socket: Socket): void {
  http.emit("connection", socket);
  socket.resume();
}

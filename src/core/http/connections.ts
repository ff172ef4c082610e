/** The open connections of the API: limits those without a valid token, and lets the last answers out. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PortSocket } from "./port-socket.ts";

/** A connection whose requests have had no valid token may be closed from this number of connections on. */
const CROWDED = 900;

type OpenSocket = Socket | PortSocket;
/** `answering`: requests whose answer has not ended. `read`: bytes received when the last answer ended. */
type Use = { answering: number; read: number };

export class Connections {
  readonly #crowded: number;
  readonly #all = new Set<OpenSocket>();
  /** Without a valid token so far, with their addresses; the idlest first. */
  readonly #strangers = new Map<OpenSocket, string>();
  /** Use of each connection that has had a request. */
  readonly #uses = new Map<OpenSocket, Use>();
  #onEmpty: () => void = () => undefined;

  constructor(crowded: number = CROWDED) {
    this.#crowded = crowded;
  }

  add(socket: OpenSocket): void {
    this.addTrusted(socket);
    this.#strangers.set(socket, socket.remoteAddress ?? "");
    if (this.#all.size <= this.#crowded) return;
    const idlest = this.#idlest();
    this.#strangers.delete(idlest as OpenSocket);
    idlest?.destroy();
  }

  /** Adds a connection of a Unix socket, whose users are known. */
  addTrusted(socket: OpenSocket): void {
    this.#all.add(socket);
    socket.once("close", () => this.forget(socket));
  }

  /** Removes a connection that is closed, or that another one stands for. */
  forget(socket: OpenSocket): void {
    this.#all.delete(socket);
    this.#strangers.delete(socket);
    this.#uses.delete(socket);
    if (this.#all.size === 0) this.#onEmpty();
  }

  /** A request has begun: the connection isn't idle until its answer ends. */
  used(socket: OpenSocket, response: ServerResponse): void {
    const address = this.#strangers.get(socket);
    if (address !== undefined && this.#strangers.delete(socket)) this.#strangers.set(socket, address);
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
    for (const [socket, { answering, read }] of this.#uses)
      if (answering === 0 && socket.bytesRead === read) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#all) socket.destroy();
  }

  /** A request had a valid token. */
  trust(socket: OpenSocket): void {
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

  /** The idlest connection of the address that has most, so that no address can close the connections of another. */
  #idlest(): OpenSocket | undefined {
    const counts = new Map<string, number>();
    for (const address of this.#strangers.values()) counts.set(address, (counts.get(address) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return [...this.#strangers].find(([, address]) => counts.get(address) === most)?.[0];
  }
}

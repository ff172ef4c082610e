/** The listening socket of the API, before the API is loaded: the first processes know its port, and early connections wait. */
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { holderOfPort } from "../../os/port-owner.ts";

/** Most connections that wait before the API answers. */
const WAITING_LIMIT = 256;
/**
 * Range of a port that procman chooses: below those that systems give to clients (Linux: ip_local_port_range, 32768 and up;
 * others: from 49152), so that no client gets the port while the service is restarted.
 */
const PORT_RANGE = { from: 20_000, to: 32_767 } as const;
const PORT_TRIES = 20;
/** A killed service may hold its port for a moment. */
const PREVIOUS_PORT_TRIES = 10;
const PREVIOUS_PORT_RETRY_MS = 50;

export class ApiListener {
  readonly #waiting = new Set<Socket>();
  readonly #onEarlyConnection: () => void;
  readonly #reserved: ReadonlySet<number>;
  #server: Server | undefined;

  /** `onEarlyConnection`: a connection waits. `reserved`: ports that it must not choose. */
  constructor(onEarlyConnection: () => void, reserved: ReadonlySet<number> = new Set()) {
    this.#onEarlyConnection = onEarlyConnection;
    this.#reserved = reserved;
  }

  /** Resolves with the port: the configured one, else the previous one, which clients know, else any. */
  async open(hostname: string, port: number | undefined, previous: number | undefined): Promise<number> {
    if (port !== undefined)
      return this.#listen(hostname, port).catch((error: NodeJS.ErrnoException) => {
        throw withHolder(error, port);
      });
    return (
      (previous === undefined
        ? undefined
        : await this.#tryToListen(hostname, Array(PREVIOUS_PORT_TRIES).fill(previous), PREVIOUS_PORT_RETRY_MS)) ??
      (await this.#tryToListen(hostname, this.#randomPorts())) ??
      this.#listen(hostname, 0)
    );
  }

  /** Listens on the first of these ports that is free. */
  async #tryToListen(hostname: string, ports: readonly number[], pauseMs = 0): Promise<number | undefined> {
    for (const port of ports)
      try {
        return await this.#listen(hostname, port);
      } catch (error) {
        if (!["EADDRINUSE", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
        await sleep(pauseMs);
      }
    return undefined;
  }

  /** Hands socket and waiting connections over to `to`. */
  async handOver(to: HttpServer): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    await new Promise<void>((resolve, reject) => {
      to.on("error", reject);
      // Both use the same socket, so no client is refused meanwhile.
      to.listen(server, resolve);
    });
    this.#server = undefined;
    for (const socket of this.#waiting) {
      to.emit("connection", socket);
      socket.resume();
    }
    this.#waiting.clear();
  }

  /** Frees the port, unless it was handed over. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy();
    this.#server?.close();
    this.#server = undefined;
  }

  #randomPorts(): readonly number[] {
    return Array.from({ length: PORT_TRIES }, randomPort).filter((port) => !this.#reserved.has(port));
  }

  #listen(host: string, port: number): Promise<number> {
    // Half-open and without delay, as `node:http` has its sockets.
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (socket) => this.#receive(socket));
    server.maxConnections = WAITING_LIMIT;
    return new Promise((resolve, reject) => {
      server.on("error", reject);
      server.listen({ host, port, exclusive: true }, () => {
        this.#server = server;
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  #receive(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once("close", () => this.#waiting.delete(socket));
    this.#onEarlyConnection();
  }
}

function randomPort(): number {
  return PORT_RANGE.from + Math.floor(Math.random() * (PORT_RANGE.to - PORT_RANGE.from));
}

/** Adds the program that holds the port to the message. */
function withHolder(error: NodeJS.ErrnoException, port: number): Error {
  const holder = error.code === "EADDRINUSE" ? holderOfPort(port) : undefined;
  return holder === undefined ? error : Object.assign(new Error(`${error.message}, by ${holder}`, { cause: error }), { code: error.code });
}

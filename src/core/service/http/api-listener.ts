/** The listening socket of the API, before the API is loaded: the first processes know its port, and early connections wait. */
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { holderOfPort } from "../../os/port-owner.ts";
import { handleOf } from "../../os/server-handle.ts";
import { EarlyConnections } from "./early-connections.ts";

/** Most connections that wait before the API answers. */
const WAITING_LIMIT = 256;
/**
 * Range of a port that procman chooses: above those of "auto" in processes, and below those that systems give to
 * clients (Linux: ip_local_port_range, 32768 and up; others: from 49152), so that no client gets the port while the
 * service is restarted.
 */
const PORT_RANGE = { from: 24_000, to: 32_767 } as const;
const PORT_TRIES = 20;
/** A killed service may hold its port for a moment, or other processes of procman the socket that this one has dropped. */
const PREVIOUS_PORT_TRIES = 10;
const PREVIOUS_PORT_RETRY_MS = 50;

export class ApiListener {
  readonly #early: EarlyConnections;
  readonly #reserved: ReadonlySet<number>;
  #server: Server | undefined;
  #handle: ListenerHandle | undefined;

  /** `onEarlyConnection`: a connection waits. `reserved`: ports that it must not choose. */
  constructor(onEarlyConnection: () => void, reserved: ReadonlySet<number> = new Set()) {
    this.#early = new EarlyConnections(onEarlyConnection);
    this.#reserved = reserved;
  }

  /** Resolves with the port: the configured one, else the previous one, which clients know, else any. */
  async open(hostname: string, port: number | undefined, previous: number | undefined): Promise<number> {
    if (port !== undefined) {
      const again =
        previous === port
          ? await this.#tryToListen(hostname, Array(PREVIOUS_PORT_TRIES).fill(port), PREVIOUS_PORT_RETRY_MS)
          : undefined;
      if (again !== undefined) return again;
      return this.#listen(hostname, port).catch((error: NodeJS.ErrnoException) => {
        throw withHolder(error, port);
      });
    }
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

  /** Listens on a socket that another process has opened. Resolves with its port. */
  openKept(fd: number): Promise<number> {
    return this.#listenOn({ fd });
  }

  /** Handle of the listening socket; undefined if this version of Node has none. */
  get handle(): ListenerHandle | undefined {
    return this.#handle;
  }

  /** Hands socket and waiting connections over to `to`. */
  async handOver(to: Server): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await this.#early.passOn(server, to);
  }

  /** Frees the port, unless it was handed over. */
  close(): void {
    this.#handle = undefined;
    this.#early.destroy();
    this.#server?.close();
    this.#server = undefined;
  }

  #randomPorts(): readonly number[] {
    return Array.from({ length: PORT_TRIES }, randomPort).filter((port) => !this.#reserved.has(port));
  }

  #listen(host: string, port: number): Promise<number> {
    return this.#listenOn({ host, port, exclusive: true });
  }

  #listenOn(where: ListenOptions | { readonly fd: number }): Promise<number> {
    // Half-open and without delay, as `node:http` has its sockets.
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, this.#early.receive);
    server.maxConnections = WAITING_LIMIT;
    return new Promise((resolve, reject) => {
      server.on("error", reject);
      server.listen(where, () => {
        this.#server = server;
        this.#handle = handleIn(server);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }
}

type ListenerHandle = ReturnType<typeof handleOf>;

/** Without it the API works, but the keeper can't hold its socket. */
function handleIn(server: Server): ListenerHandle | undefined {
  try {
    return handleOf(server);
  } catch {
    return undefined;
  }
}

function randomPort(): number {
  return PORT_RANGE.from + Math.floor(Math.random() * (PORT_RANGE.to - PORT_RANGE.from));
}

/** Adds the program that holds the port to the message. */
function withHolder(error: NodeJS.ErrnoException, port: number): Error {
  const holder = error.code === "EADDRINUSE" ? holderOfPort(port) : undefined;
  return holder === undefined
    ? error
    : Object.assign(new Error(`${error.message}, by ${holder}`, { cause: error }), { code: error.code });
}

/** The listening socket of the API, before there is an API: its port is known to the first processes, and who knocks waits. */
import type { Server } from "node:http";
import { isIP, isIPv6, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getSystemErrorMap } from "node:util";
import { type Handle, newServer } from "../cluster/sockets.ts";
import { builtin } from "../os/builtin.ts";
import { holderOfPort } from "../os/port-holder.ts";

/** More don't get in before somebody answers. */
const WAITING_LIMIT = 256;
/** As of `net.Server`. */
const BACKLOG = 511;
/**
 * A port of one's own choice lies below those that Linux gives to clients (ip_local_port_range, 32768 and up; others have them
 * from 49152): while the service is away for a moment, no client may get it for itself.
 */
const CHOICE = { from: 20_000, to: 32_767 } as const;
const TRIES = 20;
/** A service that was killed may hold its port for a moment. */
const FORMER_TRIES = 10;
const FORMER_AGAIN_MS = 50;

export class Doorway {
  readonly #waiting = new Set<Socket>();
  readonly #knocked: () => void;
  readonly #reserved: ReadonlySet<number>;
  #handle: Handle | undefined;

  /** `knocked`: somebody waits. `reserved`: ports for others, of which it chooses none. */
  constructor(knocked: () => void, reserved: ReadonlySet<number> = new Set()) {
    this.#knocked = knocked;
    this.#reserved = reserved;
  }

  /** Resolves with the port: the one that was asked for, else that of before, which clients know, else any. */
  async open(hostname: string, port: number | undefined, former: number | undefined): Promise<number> {
    if (port !== undefined)
      return this.#listen(hostname, port).catch((error: NodeJS.ErrnoException) => {
        throw named(error, port);
      });
    return (
      (former === undefined ? undefined : await this.#tryToListen(hostname, Array(FORMER_TRIES).fill(former), FORMER_AGAIN_MS)) ??
      (await this.#tryToListen(hostname, this.#choices())) ??
      this.#listen(hostname, 0)
    );
  }

  /** The first of these ports that nobody has. */
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

  /** From now on this one answers, also who waits already. */
  async handOver(to: Server): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined) return;
    // It would be loaded by `listen`.
    builtin("node:cluster");
    await new Promise<void>((resolve, reject) => {
      to.once("error", reject);
      // The same socket of the kernel, so that nobody is refused meanwhile.
      to.listen(handle, resolve);
    });
    this.#handle = undefined;
    for (const socket of this.#waiting) {
      to.emit("connection", socket);
      socket.resume();
    }
    this.#waiting.clear();
  }

  /** The port is free then, unless somebody else answers there. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy();
    this.#handle?.close();
    this.#handle = undefined;
  }

  #choices(): readonly number[] {
    return Array.from({ length: TRIES }, anyPort).filter((port) => !this.#reserved.has(port));
  }

  /** By the handle alone: a `net.Server` loads `node:cluster` and `node:dns` for it, and tells of it a turn later. */
  async #listen(hostname: string, port: number): Promise<number> {
    const address = isIP(hostname) === 0 ? await addressOf(hostname) : hostname;
    const handle = newServer();
    const failure = (isIPv6(address) ? handle.bind6(address, port, 0) : handle.bind(address, port)) || handle.listen(BACKLOG);
    if (failure !== 0) {
      handle.close();
      throw systemError(failure, `${address}:${port}`);
    }
    handle.onconnection = (status, client) => status === 0 && this.#receive(client);
    this.#handle = handle;
    const own: { port?: number } = {};
    handle.getsockname(own);
    return own.port ?? port;
  }

  #receive(client: Handle): void {
    if (this.#waiting.size >= WAITING_LIMIT) return client.close();
    const socket = new Socket({ handle: client, pauseOnCreate: true, readable: true, writable: true } as never);
    this.#waiting.add(socket);
    socket.once("close", () => this.#waiting.delete(socket));
    this.#knocked();
  }
}

async function addressOf(hostname: string): Promise<string> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(hostname)).address;
}

/** As `net.Server` words it. */
function systemError(errno: number, place: string): NodeJS.ErrnoException {
  const [code = "EIO", text = "unknown error"] = getSystemErrorMap().get(errno) ?? [];
  return Object.assign(new Error(`listen ${code}: ${text} ${place}`), { code, errno, syscall: "listen" });
}

function anyPort(): number {
  return CHOICE.from + Math.floor(Math.random() * (CHOICE.to - CHOICE.from));
}

/** Who has the port is the first that one wants to know. */
function named(error: NodeJS.ErrnoException, port: number): Error {
  const holder = error.code === "EADDRINUSE" ? holderOfPort(port) : undefined;
  return holder === undefined ? error : Object.assign(new Error(`${error.message}, by ${holder}`, { cause: error }), { code: error.code });
}

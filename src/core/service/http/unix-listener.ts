/** The Unix socket of the API: for commands and programs of the same user. It needs no port, and no other user reaches it. */
import { rmSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { makeFolder } from "../../os/files.ts";
import { isShort, socketPathIn } from "../../os/unix-socket.ts";
import { EarlyConnections } from "./early-connections.ts";
import { listenAt } from "./socket-file.ts";

const NAME = "api.sock";
const CONNECTIONS = 1_024;
/** Mode of the socket's file. */
const OWNER_ONLY = 0o600;

export class UnixListener {
  readonly #runDir: string;
  readonly #early: EarlyConnections;
  #server: Server | undefined;
  #path: string | undefined;

  /** `onEarlyConnection`: a connection waits for `handOver`. */
  constructor(stateDir: string, onEarlyConnection: () => void) {
    this.#runDir = join(stateDir, "run");
    this.#early = new EarlyConnections(onEarlyConnection);
  }

  /** Its path, once it listens. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Its path for other programs, also before it listens; undefined: it is too long for them. */
  get shortPath(): string | undefined {
    const path = join(this.#runDir, NAME);
    return isShort(path) ? path : undefined;
  }

  /** Listens in place of the previous service. Rejects if the folder takes no socket. */
  async open(): Promise<void> {
    makeFolder(this.#runDir, 0o700);
    const path = this.#path ?? socketPathIn(this.#runDir, NAME);
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, this.#early.receive);
    server.maxConnections = CONNECTIONS;
    await listenAt(server, { path, madeAt: join(dirname(path), `api.${process.pid}`), mode: OWNER_ONLY });
    this.#path = path;
    // After the run folder was removed there is one before.
    this.#server?.close();
    this.#server = server;
  }

  /** Hands waiting and later connections over to `to`. */
  handOver(to: HttpServer): void {
    this.#early.forward((socket) => to.emit("connection", socket));
  }

  close(): void {
    this.#early.destroy();
    this.#server?.close();
    this.#server = undefined;
  }

  /** procman ends. */
  remove(): void {
    if (this.#path !== undefined) rmSync(this.#path, { force: true });
  }
}

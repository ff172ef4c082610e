/** The socket by which services and keepers control the balancer; it serves any service, whichever keeper started the balancer. */
import { existsSync, lstatSync, renameSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { JsonLines, jsonLine } from "../base/json-lines.ts";
import {
  type FromBalancer,
  type Front,
  type FrontReport,
  problemOf,
  type ToBalancer,
} from "../ipc/balancer-protocol.ts";
import { isOwnSocket } from "../os/balancer-socket.ts";
import { printError } from "../os/error-output.ts";
import { connectUnix, shortened } from "../os/unix-socket.ts";

export type Hello = FromBalancer & { readonly t: "hello" };

/** How often it is checked whether the socket file still exists. */
const CHECK_MS = 2_000;
/** A running balancer sends its hello within this time. */
const HELLO_MS = 1_000;
/** Permissions that the socket is made without: only this user may connect. */
const UMASK = 0o177;

export type ControlServerOptions = {
  readonly path: string;
  readonly hello: Hello;
  readonly apply: (fronts: readonly Front[]) => Promise<void>;
  /** A keeper asks for a handoff to another program. Resolves with the answer. */
  readonly handOff: (request: ToBalancer & { readonly t: "succeed" }) => Promise<FromBalancer>;
  readonly report: () => readonly FrontReport[];
  /** Called when the state folder is gone and no service is connected. */
  readonly abandoned: () => void;
};

export class ControlServer {
  readonly #options: ControlServerOptions;
  /** With the last report that each service got. */
  readonly #services = new Map<Socket, string>();
  #server: Server | undefined;
  readonly #checking: NodeJS.Timeout;
  #inode = 0;
  /** Why it can't be controlled, once written. */
  #problem: string | undefined;
  /** Resolves when the server listens, or can't. */
  readonly opened: Promise<void>;

  constructor(options: ControlServerOptions) {
    this.#options = options;
    this.opened = new Promise((resolve) => this.#open(resolve));
    this.#checking = setInterval(() => this.#check(), CHECK_MS);
  }

  /** Sends the report to all services, if it has changed. */
  report(): void {
    if (this.#services.size === 0) return;
    const line = jsonLine({ t: "report", fronts: this.#options.report() } satisfies FromBalancer);
    for (const [service, last] of this.#services) {
      // A service that doesn't read gets a later report.
      if (line === last || service.writableNeedDrain) continue;
      this.#services.set(service, line);
      service.write(line);
    }
  }

  close(): void {
    this.release();
    rmSync(this.#options.path, { force: true });
  }

  /** The successor's socket has taken the path: services are disconnected, and connect to that. */
  release(): void {
    clearInterval(this.#checking);
    this.#server?.close();
    for (const service of this.#services.keys()) service.end();
  }

  #open(opened: () => void = () => undefined): void {
    const server = createServer((service) => this.#welcome(service));
    const failed = (error: Error): void => {
      this.#fail(error);
      opened();
    };
    server.on("error", failed);
    this.#server = server;
    try {
      this.#listen(server, opened, failed);
    } catch (error) {
      failed(error as Error);
    }
  }

  #listen(server: Server, opened: () => void, failed: (error: Error) => void): void {
    const { path } = this.#options;
    // Renamed when it listens: it replaces the predecessor's socket without a gap.
    const unnamed = join(dirname(path), `lb.${process.pid}`);
    rmSync(unnamed, { force: true });
    const short = shortened(unnamed);
    const umask = process.umask(UMASK);
    try {
      // Binds at once.
      server.listen(short.path);
    } finally {
      process.umask(umask);
      short.release();
    }
    server.once("listening", () => {
      try {
        renameSync(unnamed, path);
        this.#inode = lstatSync(path).ino;
        this.#problem = undefined;
        opened();
      } catch (error) {
        rmSync(unnamed, { force: true });
        failed(error as Error);
      }
    });
  }

  /** The ports are served; `#check` tries again. */
  #fail({ message }: Error): void {
    this.#server?.close();
    if (message === this.#problem) return;
    this.#problem = message;
    printError(`the load balancer can't be controlled at ${this.#options.path}: ${message}`);
  }

  #welcome(service: Socket): void {
    const { hello } = this.#options;
    const send = (answer: FromBalancer): void => void (service.writable && service.write(jsonLine(answer)));
    const refused = (problem: string): void => send({ t: "refused", problem });
    const lines = new JsonLines<ToBalancer>({
      message: (message) => void this.#answer(message).then(send, (error: Error) => refused(error.message)),
      refused,
    });
    service.setEncoding("utf8");
    service.on("data", (text: string) => lines.push(text));
    // A service may be killed at any time; the fronts that it has set stay.
    service.on("error", () => service.destroy());
    service.on("close", () => this.#services.delete(service));
    service.write(jsonLine(hello));
    this.#services.set(service, "");
    this.report();
  }

  async #answer(message: ToBalancer): Promise<FromBalancer> {
    const problem = problemOf(message);
    if (problem !== undefined) return { t: "refused", problem };
    if (message.t === "succeed") return this.#options.handOff(message);
    await this.#options.apply(message.fronts);
    // The service must know whether a client has come just before, as it puts instances to sleep then.
    if (message.fronts.some(({ asleep }) => asleep)) this.report();
    return { t: "applied", serial: message.serial };
  }

  /** A socket file that was removed is made again. */
  #check(): void {
    const { path, abandoned } = this.#options;
    if (lstatSync(path, { throwIfNoEntry: false })?.ino === this.#inode) return;
    if (existsSync(dirname(path))) {
      this.#server?.close();
      this.#open();
    } else if (this.#services.size === 0) abandoned();
  }
}

/** The balancer that already serves this socket; undefined when there is none. */
export function probeExisting(path: string): Promise<Hello | undefined> {
  if (!isOwnSocket(path)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connectUnix(path);
    const finish = (hello?: Hello): void => {
      socket.destroy();
      resolve(hello);
    };
    const lines = new JsonLines<FromBalancer>({
      message: (message) => message.t === "hello" && finish(message),
      refused: () => finish(),
    });
    socket.setEncoding("utf8").setTimeout(HELLO_MS, () => finish());
    socket.on("data", (text: string) => lines.push(text));
    socket.on("error", () => finish());
    socket.on("close", () => finish());
  });
}

/** The socket by which any service speaks to the balancer, whoever started that. */
import { chmodSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { JsonLines, jsonLine } from "../base/json-lines.ts";
import type { FromBalancer, Front, FrontReport, ToBalancer } from "../contract/balancer-protocol.ts";
import { isOwnSocket } from "../os/balancer-socket.ts";

export type Hello = FromBalancer & { readonly t: "hello" };

/** Whether somebody has removed the socket is looked at this often. Milliseconds. */
const LOOK_MS = 2_000;
/** A balancer that lives says hello at once. Milliseconds. */
const HELLO_MS = 1_000;

export type DeskOptions = {
  readonly path: string;
  readonly hello: Hello;
  readonly receive: (fronts: readonly Front[]) => Promise<void>;
  /** A keeper wants another program in its place. Resolves with the answer. */
  readonly succeed: (wish: ToBalancer & { readonly t: "succeed" }) => Promise<FromBalancer>;
  readonly report: () => readonly FrontReport[];
  /** The state folder is gone, and nobody speaks to us. */
  readonly abandoned: () => void;
};

export class Desk {
  readonly #options: DeskOptions;
  readonly #services = new Map<Socket, string>();
  #server: Server | undefined;
  readonly #looking: NodeJS.Timeout;
  #inode = 0;
  /** It can be spoken to, or can't be at all. */
  readonly opened: Promise<void>;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.opened = new Promise((resolve) => this.#open(resolve));
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  /** What has changed goes to all services that are there. */
  tell(): void {
    if (this.#services.size === 0) return;
    const line = jsonLine({ t: "report", fronts: this.#options.report() } satisfies FromBalancer);
    for (const [service, last] of this.#services) {
      // One that doesn't read gets the next one.
      if (line === last || service.writableNeedDrain) continue;
      this.#services.set(service, line);
      service.write(line);
    }
  }

  close(): void {
    this.leave();
    rmSync(this.#options.path, { force: true });
  }

  /** Another one is spoken to from now on: whoever is here goes there. */
  leave(): void {
    clearInterval(this.#looking);
    this.#server?.close();
    for (const service of this.#services.keys()) service.end();
  }

  #open(opened: () => void = () => undefined): void {
    const { path } = this.#options;
    // It gets its name when it can be spoken to: in the place of a predecessor's, without a moment between them.
    const unnamed = join(dirname(path), `lb.${process.pid}`);
    rmSync(unnamed, { force: true });
    const server = createServer((service) => this.#welcome(service));
    server.on("error", (error) => {
      process.stderr.write(`procman: the balancer can't be spoken to at ${path}: ${error.message}\n`);
      opened();
    });
    server.listen(unnamed, () => {
      chmodSync(unnamed, 0o600);
      renameSync(unnamed, path);
      this.#inode = statSync(path).ino;
      opened();
    });
    this.#server = server;
  }

  #welcome(service: Socket): void {
    const { hello } = this.#options;
    const lines = new JsonLines<ToBalancer>((message) => void this.#answer(message).then((answer) => service.write(jsonLine(answer))));
    service.setEncoding("utf8");
    service.on("data", (text: string) => lines.push(text));
    // A service may be killed at any time: the balancer goes on with what it was told.
    service.on("error", () => service.destroy());
    service.on("close", () => this.#services.delete(service));
    service.write(jsonLine(hello));
    this.#services.set(service, "");
    this.tell();
  }

  async #answer(message: ToBalancer): Promise<FromBalancer> {
    if (message.t === "succeed") return this.#options.succeed(message);
    await this.#options.receive(message.fronts);
    return { t: "applied", serial: message.serial };
  }

  /** A socket file that somebody removed is made anew. */
  #look(): void {
    const { path, abandoned } = this.#options;
    if (statSync(path, { throwIfNoEntry: false })?.ino === this.#inode) return;
    if (existsSync(dirname(path))) {
      this.#server?.close();
      this.#open();
    } else if (this.#services.size === 0) abandoned();
  }
}

/** The balancer that listens there already; undefined: none does. */
export function othersAt(path: string): Promise<Hello | undefined> {
  if (!isOwnSocket(path)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect(path);
    const over = (hello?: Hello): void => {
      socket.destroy();
      resolve(hello);
    };
    const lines = new JsonLines<FromBalancer>((message) => message.t === "hello" && over(message));
    socket.setEncoding("utf8").setTimeout(HELLO_MS, () => over());
    socket.on("data", (text: string) => lines.push(text));
    socket.on("error", () => over());
    socket.on("close", () => over());
  });
}

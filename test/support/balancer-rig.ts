/** A balancer process, controlled as by a service, and small backends. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonLines, jsonLine } from "../../src/core/base/json-lines.ts";
import type {
  BackendReport,
  BackendSpec,
  FromBalancer,
  Front,
  FrontReport,
} from "../../src/core/ipc/balancer-protocol.ts";
import { isOwnSocket } from "../../src/core/os/balancer-socket.ts";
import { signalIfThere } from "../../src/core/os/process-signal.ts";
import { connectUnix } from "../../src/core/os/unix-socket.ts";
import { tcpEnvironment } from "./both-tcp.ts";
import { freePort } from "./free-ports.ts";
import { eventually } from "./procman-process.ts";
import { DIST } from "./product.ts";

const MAIN = join(DIST, "balancer.cjs");
/** Ends a wait for an event that never comes. Milliseconds. */
const TIMEOUT_MS = 20_000;

export type Context = { readonly after: (call: () => void | Promise<void>) => void };

type Launch = {
  readonly processes: number;
  readonly launcher: readonly string[];
  readonly tcp: NodeJS.ProcessEnv;
  readonly folder?: string;
};

export class TestBalancer {
  readonly process: ChildProcess;
  readonly port: number;
  #reports: readonly FrontReport[] = [];
  #applied = 0;
  #serial = 0;
  #service: Socket | undefined;
  readonly #successors: number[] = [];
  /** Its standard error. */
  stderr = "";
  readonly folder: string;
  readonly #options: Partial<Front>;

  readonly #tcp: NodeJS.ProcessEnv;

  private constructor(
    port: number,
    options: Partial<Front>,
    { processes, launcher, tcp, folder = mkdtempSync(join(tmpdir(), "procman-balancer-")) }: Launch,
  ) {
    this.port = port;
    this.#tcp = tcp;
    this.#options = options;
    this.folder = folder;
    const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: _certificates, ...env } = process.env;
    const argv = [...launcher, process.execPath, MAIN, `--socket=${this.socket}`, `--processes=${processes}`];
    this.process = spawn(argv[0] as string, argv.slice(1), {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
      env: { ...env, ...tcp },
    });
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
  }

  /** `launcher`: a command that execs the balancer. `tcp`: its environment, as of `tcpEnvironment`. */
  static async start(
    context: Context,
    options: Partial<Front> = {},
    processes = 1,
    {
      launcher = [],
      tcp = tcpEnvironment(context),
    }: { readonly launcher?: readonly string[]; readonly tcp?: NodeJS.ProcessEnv } = {},
  ): Promise<TestBalancer> {
    const balancer = new TestBalancer(options.port ?? (await freePort()), options, { processes, launcher, tcp });
    context.after(() => balancer.#end());
    await balancer.isControlled();
    return balancer;
  }

  /** Starts one with its control socket in this folder, and doesn't wait for it. */
  static async launch(context: Context, folder: string, port?: number): Promise<TestBalancer> {
    const balancer = new TestBalancer(
      port ?? (await freePort()),
      {},
      { processes: 1, launcher: [], tcp: tcpEnvironment(context), folder },
    );
    context.after(() => balancer.#end());
    return balancer;
  }

  /** Resolves when its control socket listens and a service has connected. */
  async isControlled(): Promise<void> {
    await eventually(() => (isOwnSocket(this.socket) ? true : undefined));
    await this.#listens();
    await this.serviceComes();
  }

  /** The file of a socket exists before the socket listens. */
  async #listens(): Promise<void> {
    const end = performance.now() + TIMEOUT_MS;
    for (let isRefused = true; isRefused; ) {
      assert.ok(performance.now() < end, "the balancer doesn't listen");
      const attempt = connectUnix(this.socket);
      isRefused = await new Promise((resolve) =>
        attempt.once("connect", () => resolve(false)).once("error", () => resolve(true)),
      );
      attempt.destroy();
    }
  }

  get socket(): string {
    return join(this.folder, "balancer.sock");
  }

  get pid(): number {
    return this.process.pid as number;
  }

  get report(): FrontReport | undefined {
    return this.#reports[0];
  }

  backend(id: string): BackendReport | undefined {
    return this.report?.backends.find((backend) => backend.id === id);
  }

  /** A service connects, as after a restart. */
  async serviceComes(): Promise<void> {
    const service = connectUnix(this.socket);
    const lines = new JsonLines<FromBalancer>({
      message: (message) => {
        if (message.t === "report") this.#reports = message.fronts;
        if (message.t === "applied") this.#applied = message.serial;
      },
      refused: assert.fail,
    });
    service.setEncoding("utf8").on("data", (text: string) => lines.push(text));
    service.on("error", () => service.destroy());
    this.#service = service;
    await once(service, "connect");
  }

  serviceGoes(): void {
    this.#service?.destroy();
  }

  /** Requests a successor, as a keeper does. Resolves with the answer. */
  async succeed(script = MAIN, tcp = this.#tcp): Promise<FromBalancer> {
    const keeper = connectUnix(this.socket);
    const env = { PATH: process.env.PATH, ...tcp };
    const answer = new Promise<FromBalancer>((resolve, reject) => {
      const lines = new JsonLines<FromBalancer>({
        message: (message) => {
          if (message.t === "succeeded" || message.t === "unsucceeded") resolve(message);
        },
        refused: assert.fail,
      });
      keeper.setEncoding("utf8").on("data", (text: string) => lines.push(text));
      keeper.on("error", reject).on("close", () => reject(new Error("no answer")));
    });
    const argv = [process.execPath, script, `--socket=${this.socket}`, "--processes=2"];
    keeper.write(jsonLine({ t: "succeed", argv, env }));
    const result = await answer;
    keeper.destroy();
    if (result.t === "succeeded") this.#successors.push(result.pid);
    return result;
  }

  /** Resolves when the balancer has applied it. */
  async serve(backends: readonly BackendSpec[], more: Partial<Front> = {}): Promise<void> {
    await this.#apply([{ ...this.#front("web", this.port, backends), ...more }]);
  }

  #front(id: string, port: number, backends: readonly BackendSpec[]): Front {
    const common = { hostname: "127.0.0.1", strategy: "round-robin", proxyProtocol: false, idleMs: 0 } as const;
    return { id, port, ...common, ...this.#options, backends };
  }

  async #apply(fronts: readonly Front[]): Promise<void> {
    const serial = ++this.#serial;
    this.#service?.write(jsonLine({ t: "fronts", serial, fronts }));
    await eventually(() => (this.#applied >= serial ? true : undefined));
  }

  /** Resolves when all these backends accept. */
  async serveUp(backends: readonly TestBackend[]): Promise<void> {
    await this.serve(backends.map(({ spec }) => spec));
    await eventually(() => (backends.every(({ id }) => this.backend(id)?.accepting) ? true : undefined));
  }

  /** A connected client. */
  async client(): Promise<Socket> {
    const socket = connect({ port: this.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  /** The id of the backend that answers a new connection. */
  async who(): Promise<string> {
    const socket = await this.client();
    const answer = await received(socket).catch((error: Error) => {
      throw new Error(`${error.message}; the balancer reports ${JSON.stringify(this.#reports)}`);
    });
    socket.end();
    return answer;
  }

  async #end(): Promise<void> {
    this.serviceGoes();
    for (const pid of this.#successors) signalIfThere(pid, "SIGKILL");
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGKILL");
      await once(this.process, "exit");
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class TestBackend {
  readonly id: string;
  port = 0;
  readonly sockets = new Set<Socket>();
  #server: Server | undefined;
  readonly #serve: (socket: Socket) => void;

  private constructor(id: string, serve: (socket: Socket) => void) {
    this.id = id;
    this.#serve = serve;
  }

  /** By default it sends its id to each client. */
  static async start(context: Context, id: string, serve?: (socket: Socket) => void): Promise<TestBackend> {
    const backend = new TestBackend(
      id,
      serve ??
        ((socket) =>
          socket
            .on("end", () => socket.end())
            .resume()
            .write(id)),
    );
    context.after(() => backend.stop());
    await backend.listen();
    return backend;
  }

  get spec(): BackendSpec {
    return { id: this.id, port: this.port, state: "up" };
  }

  async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => this.sockets.delete(socket));
      this.#serve(socket);
    });
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
    this.port = (server.address() as { readonly port: number }).port;
  }

  stop(): void {
    this.#server?.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** A backend whose accept queue is full: the kernel answers no further client. */
export class FullBackend {
  readonly #program: ChildProcess;
  readonly port: number;

  private constructor(program: ChildProcess, port: number) {
    this.#program = program;
    this.port = port;
  }

  static async start(context: Context): Promise<FullBackend> {
    const code = `
import socket, sys
server = socket.create_server(("127.0.0.1", 0), backlog=0)
print(server.getsockname()[1], flush=True)
sys.stdin.readline()
while True: server.accept()[0].close()`;
    const program = spawn("python3", ["-c", code], { stdio: ["pipe", "pipe", "inherit"] });
    const clients: Socket[] = [];
    context.after(() => {
      for (const client of clients) client.destroy();
      program.kill("SIGKILL");
    });
    const [text] = await once(program.stdout, "data");
    const port = Number(text);
    // The queue is full when the kernel doesn't answer any more.
    for (let isAnswered = true; isAnswered; ) {
      const client = connect(port, "127.0.0.1");
      client.on("error", () => undefined);
      clients.push(client);
      await eventually(() => (client.connecting && attemptsAt(port).length === 0 ? undefined : true));
      await new Promise(setImmediate);
      isAnswered = !client.connecting;
    }
    clients.at(-1)?.destroy();
    return new FullBackend(program, port);
  }

  accept(): void {
    this.#program.stdin?.write("\n");
  }
}

/** The local addresses of connections to this port that the kernel tries to make: SYN_SENT, see proc(5). */
export function attemptsAt(port: number): readonly string[] {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "latin1").split("\n");
  return lines.flatMap((line) => {
    const [, local = "", other, state] = line.trim().split(/\s+/);
    return other === remote && state === "02" ? [local] : [];
  });
}

/** Sends back what a client sends. */
export function echo(socket: Socket): void {
  socket.on("data", (bytes) => socket.write(bytes)).on("end", () => socket.end());
}

/** The first bytes from the socket; "": it ended without any. */
export async function received(socket: Socket): Promise<string> {
  if (socket.destroyed) return "";
  return new Promise((resolve, reject) => {
    const { localPort, remotePort } = socket;
    const timer = setTimeout(
      () => reject(new Error(`no byte and no end came from port ${remotePort} to ${localPort}`)),
      TIMEOUT_MS,
    );
    const end = (text: string): void => {
      clearTimeout(timer);
      resolve(text);
    };
    socket.once("data", (bytes: Buffer) => end(bytes.toString("latin1")));
    socket.once("end", () => end(""));
    socket.once("close", () => end(""));
  });
}

/** A further process of the balancer, seen from the first one. It accepts clients from the same listening sockets. */
import { type ChildProcess, fork } from "node:child_process";
import { isDeepStrictEqual } from "node:util";
import type { Front, FrontReport } from "../ipc/balancer-protocol.ts";
import { errorLine, styleVariable } from "../os/error-output.ts";
import { processStat } from "../os/process-stat.ts";
import type { ConnectionCounts } from "./backends.ts";
import { type Load, NO_LOAD, type SocketHalf } from "./rebalancer.ts";
import type { TcpHandle, TcpServer } from "./tcp-handle.ts";
import type { IdleTimeouts } from "./worker.ts";

export type ToWorker =
  | { readonly t: "fronts"; readonly serial: number; readonly fronts: readonly Front[] }
  /** Accompanied by the listening socket. */
  | { readonly t: "listen"; readonly id: string }
  | { readonly t: "unlisten"; readonly id: string }
  /** Connections of a front that count in addition to those of the process. */
  | { readonly t: "elsewhere"; readonly id: string; readonly counts: ConnectionCounts }
  | { readonly t: "idle"; readonly timeouts: IdleTimeouts }
  /** Give up to `count` connections to another process. */
  | { readonly t: "migrate"; readonly serial: number; readonly count: number }
  | SocketHalf
  | { readonly t: "close" | "retire"; readonly serial: number };

export type FromWorker =
  | { readonly t: "applied"; readonly serial: number }
  /** A listening socket did not arrive: file descriptors have run out, or Node no longer passes such a handle. */
  | { readonly t: "no-socket"; readonly id: string }
  | SocketHalf
  | { readonly t: "report"; readonly reports: readonly FrontReport[]; readonly clients: number; readonly load: Load };

/** Delay before a process that ended is started again. */
const RESTART_MS = 100;
/** Delay before a listening socket that did not arrive is sent again. */
const RESEND_MS = 1_000;
/** Time to end after the channel is closed, then SIGKILL. */
const END_MS = 500;

/** `number`: 1 and up; the first process is 0. `tcp`: name of the implementation. `socket`: that of the first process, for the title. */
export type WorkerCommand = {
  readonly file: string;
  readonly number: number;
  readonly tcp: string;
  readonly socket?: string;
};

export class WorkerProcess {
  readonly #command: WorkerCommand;
  readonly #changed: () => void;
  readonly #started: () => void;
  /** By serial number of the message: resolves when it is answered. */
  readonly #unanswered = new Map<number, () => void>();
  #process: ChildProcess;
  #serial = 0;
  #isGone = false;
  #fronts: readonly Front[] = [];
  readonly #servers = new Map<string, TcpServer>();
  /** As last sent, by id of the front. */
  readonly #elsewhere = new Map<string, ConnectionCounts>();
  #closed = false;
  /** That a socket did not arrive is reported once. */
  #isReported = false;
  reports: readonly FrontReport[] = [];
  clients = 0;
  load = NO_LOAD;
  /** Sends not yet confirmed by the channel. */
  readonly #unsent = new Set<(isSent: boolean) => void>();
  /** Receives the halves of the connections that this process gives away. */
  #received: (half: SocketHalf, socket: TcpHandle | undefined) => void = () => undefined;

  /** `changed` is called after each report; `started` when the process was started again. */
  constructor(command: WorkerCommand, changed: () => void, started: () => void = () => undefined) {
    this.#command = command;
    this.#changed = changed;
    this.#started = started;
    this.#process = this.#start();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The process has ended and is not started again yet: it accepts no clients. */
  get isGone(): boolean {
    return this.#isGone;
  }

  async apply(fronts: readonly Front[]): Promise<void> {
    this.#fronts = fronts;
    await this.#ask({ t: "fronts", serial: ++this.#serial, fronts });
  }

  listen(id: string, server: TcpServer): void {
    if (this.#servers.get(id) === server) return;
    this.#servers.set(id, server);
    this.#sendServer(id, server);
  }

  unlisten(id: string): void {
    if (!this.#servers.delete(id)) return;
    this.#send({ t: "unlisten", id });
  }

  setElsewhere(id: string, counts: ConnectionCounts): void {
    if (isDeepStrictEqual(counts, this.#elsewhere.get(id) ?? {})) return;
    this.#elsewhere.set(id, counts);
    this.#send({ t: "elsewhere", id, counts });
  }

  setIdleTimeouts(timeouts: IdleTimeouts): void {
    this.#send({ t: "idle", timeouts });
  }

  /** Resolves when the process has given up to `count` connections, half by half, to `received`. */
  async migrate(count: number, received: (half: SocketHalf, socket: TcpHandle | undefined) => void): Promise<void> {
    this.#received = received;
    await this.#ask({ t: "migrate", serial: ++this.#serial, count });
  }

  /** Resolves with whether the socket was sent. */
  send(half: SocketHalf, socket: TcpHandle): Promise<boolean> {
    if (this.#isGone || !this.#process.connected) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#unsent.add(resolve);
      this.#process.send(half, socket as never, {}, (error) => {
        this.#unsent.delete(resolve);
        resolve(error === null);
      });
    });
  }

  /** Stops accepting clients; after `retire`, clients in the pending queue keep waiting. Resolves when `clients` counts all that were accepted. */
  async stop(how: "close" | "retire"): Promise<void> {
    this.#closed = true;
    await this.#ask({ t: how, serial: ++this.#serial });
  }

  /** Resolves when the process has ended. It is awaited because an orphan stays a zombie where PID 1 reaps none. */
  async end(): Promise<void> {
    this.#closed = true;
    const { exitCode, signalCode, connected } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    if (connected) this.#process.disconnect();
    const timeout = setTimeout(() => this.#process.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(timeout);
  }

  #start(): ChildProcess {
    const { file, number, tcp, socket = "" } = this.#command;
    const child = fork(file, [`--worker=${number}`, `--tcp=${tcp}`, `--socket=${socket}`], {
      detached: leadsSession(),
      env: { ...process.env, ...styleVariable() },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    child.on("message", (message, socket) => this.#onMessage(message as FromWorker, socket as TcpHandle | undefined));
    child.once("error", () => this.#onGone());
    child.once("exit", () => this.#onGone());
    return child;
  }

  #onMessage(message: FromWorker, socket: TcpHandle | undefined): void {
    if (message.t === "applied") return this.#answer(message.serial);
    if (message.t === "no-socket") return this.#onNoSocket(message.id, "it did not arrive");
    if (message.t !== "report") return this.#received(message, socket);
    this.reports = message.reports;
    this.clients = message.clients;
    this.load = message.load;
    this.#changed();
  }

  /** Resolves when the process has answered, or has ended. */
  #ask(message: ToWorker & { readonly serial: number }): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    const answered = new Promise<void>((resolve) => this.#unanswered.set(message.serial, resolve));
    this.#send(message);
    return answered;
  }

  #answer(serial: number): void {
    this.#unanswered.get(serial)?.();
    this.#unanswered.delete(serial);
  }

  #onGone(): void {
    this.#isGone = true;
    this.reports = [];
    this.clients = 0;
    this.load = NO_LOAD;
    for (const serial of [...this.#unanswered.keys()]) this.#answer(serial);
    for (const resolve of this.#unsent) resolve(false);
    this.#unsent.clear();
    this.#changed();
    if (this.#closed) return;
    setTimeout(() => {
      if (this.#closed) return;
      this.#process = this.#start();
      this.#started();
      this.#isGone = false;
      this.#send({ t: "fronts", serial: ++this.#serial, fronts: this.#fronts });
      for (const [id, counts] of this.#elsewhere) this.#send({ t: "elsewhere", id, counts });
      for (const [id, server] of this.#servers) this.#sendServer(id, server);
    }, RESTART_MS);
  }

  /** A channel that breaks at this moment is followed by `exit`. */
  #send(message: ToWorker, server?: TcpServer): void {
    if (this.#process.connected) this.#process.send(message, server?.transferable as never, {}, () => undefined);
  }

  #sendServer(id: string, server: TcpServer): void {
    try {
      this.#send({ t: "listen", id }, server);
    } catch (error) {
      this.#onNoSocket(id, (error as Error).message);
    }
  }

  /** Clients of this front are accepted by the other processes until the socket arrives. */
  #onNoSocket(id: string, problem: string): void {
    const server = this.#servers.get(id);
    if (!this.#isReported)
      process.stderr.write(
        errorLine(`a process of the load balancer has no socket to accept clients from: ${problem}`),
      );
    this.#isReported = true;
    setTimeout(() => {
      if (server !== undefined && this.#servers.get(id) === server && !this.#isGone) this.#sendServer(id, server);
    }, RESEND_MS);
  }
}

/**
 * Under a keeper it does, and then each worker process leads a session too: Linux shares CPU time by session
 * (autogroup, sched(7)), so one session for all of them would get no more than one instance. See
 * docs/design/performance.md.
 */
function leadsSession(): boolean {
  return processStat(process.pid)?.session === process.pid;
}

/** One of procman's internal processes, with its IPC channel. */

import { type ChildProcess, spawn } from "node:child_process";
import type { ListeningSocket } from "../ipc/keeper-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { type InheritedSocket, type InheritedSockets, inheritance } from "../os/inherited-sockets.ts";
import { DeferredQueue } from "./deferred-queue.ts";

export type ProcessExit = { readonly code: number | null; readonly signal: string | null };

export type IpcProcessEvents<Message> = {
  /** `socket`: a handle that came with them. */
  readonly messages: (messages: readonly Message[], socket?: unknown) => void;
  readonly exit: (how: ProcessExit) => void;
};

/**
 * `now`: at once, unless something was sent within the last millisecond; then as `turn`. `turn`: all messages of one turn of the event
 * loop as one array. `deferred`: a little later, or with what is sent meanwhile, in order.
 */
export type Urgency = "now" | "turn" | "deferred";

/** Urgent messages closer together than this are sent as one array. Milliseconds. */
const BURST_MS = 1;

export class IpcProcess<Sent, Received> {
  #events: IpcProcessEvents<Received> = { messages: () => undefined, exit: () => undefined };
  readonly #process: ChildProcess;
  #outbox: Sent[] = [];
  #flushing = false;
  #flushedAt = 0;
  readonly #deferred: DeferredQueue;
  #cancelDeferred: (() => void) | undefined;
  #exit: ProcessExit | undefined;
  #hasAnswered = false;

  /** `sockets`: inherited by the process. */
  constructor(argv: readonly string[], env: NodeJS.ProcessEnv, sockets: InheritedSockets = new Map(), deferred = new DeferredQueue()) {
    this.#deferred = deferred;
    const [program, ...args] = argv;
    const kept = inheritance(sockets);
    const child = spawn(program ?? "", args, {
      stdio: ["ignore", "inherit", "inherit", "ipc", ...kept.fds],
      detached: true,
      env: { ...env, ...kept.env },
    });
    this.#process = child;
    child.on("message", (messages, socket: unknown) => {
      this.#hasAnswered = true;
      this.#events.messages(messages as Received[], socket);
    });
    child.once("error", (error: NodeJS.ErrnoException) => this.#onExit({ code: null, signal: error.code ?? "error" }));
    child.once("exit", (code, signal) => this.#onExit({ code, signal }));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Replaces the listener: an upgrade listens to a candidate before it is promoted. An exit that was seen before is reported again. */
  listen(events: IpcProcessEvents<Received>): void {
    this.#events = events;
    const exit = this.#exit;
    if (exit !== undefined) queueMicrotask(() => events.exit(exit));
  }

  /** Its exit has not been seen yet. */
  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /** It has sent a message, so it reads what is sent to it. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get isUp(): boolean {
    return this.#process.connected;
  }

  send(message: Sent, urgency: Urgency = "turn"): void {
    this.#outbox.push(message);
    if (urgency === "deferred") {
      if (!this.#flushing) this.#cancelDeferred ??= this.#deferred.add(() => void this.flush());
    } else if (urgency === "now" && monotonicMs() - this.#flushedAt > BURST_MS) void this.flush();
    else if (!this.#flushing) {
      this.#flushing = true;
      setImmediate(() => void this.flush());
    }
  }

  /** Resolves when all messages are in the channel, so that they arrive even if this process is killed; or when the channel broke. */
  flush(): Promise<void> {
    this.#flushing = false;
    this.#cancelDeferred?.();
    this.#cancelDeferred = undefined;
    const messages = this.#outbox;
    this.#outbox = [];
    if (messages.length === 0 || !this.isUp) return Promise.resolve();
    this.#flushedAt = monotonicMs();
    // A channel that breaks now is followed by `exit`; the next process gets a snapshot.
    return new Promise((resolve) => this.#process.send(messages, () => resolve()));
  }

  /** Resolves when it is in the channel: then it arrives even if this process is killed. */
  shareSocket(message: ListeningSocket, socket: InheritedSocket | undefined): Promise<void> {
    void this.flush();
    // A process that ends meanwhile doesn't need it: the next one inherits the socket.
    return new Promise((resolve) => (this.isUp ? this.#process.send([message], socket as never, {}, () => resolve()) : resolve()));
  }

  kill(signal: "SIGKILL" | "SIGUSR1" = "SIGKILL"): void {
    this.#process.kill(signal);
  }

  #onExit(how: ProcessExit): void {
    if (this.#exit !== undefined) return;
    this.#exit = how;
    this.#events.exit(how);
  }
}

/** One process of procman's own, with a channel to it. */

import { type ChildProcess, spawn } from "node:child_process";
import type { ListeningSocket } from "../ipc/keeper-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { handedOn, type InheritedSocket, type InheritedSockets } from "../os/inherited-sockets.ts";
import { DeferredQueue } from "./deferred-queue.ts";

export type ProcessExit = { readonly code: number | null; readonly signal: string | null };

export type IpcProcessEvents<Message> = {
  readonly messages: (messages: readonly Message[]) => void;
  readonly exit: (how: ProcessExit) => void;
};

/**
 * `now`: at once, unless something went just before; then with all messages of this turn, as many may come together. `turn`: all messages
 * of one turn travel as one array. `deferred`: a little later, or with what is sent meanwhile, in order.
 */
export type Urgency = "now" | "turn" | "deferred";

/** What comes closer together than this goes together. Milliseconds. */
const BURST_MS = 1;

export class IpcProcess<ToIt, FromIt> {
  /** Whoever listens may change: a newcomer is heard by an upgrade before it takes its place. */
  events: IpcProcessEvents<FromIt> = { messages: () => undefined, exit: () => undefined };
  readonly #process: ChildProcess;
  #outbox: ToIt[] = [];
  #flushing = false;
  #flushedAt = 0;
  readonly #deferred: DeferredQueue;
  #cancelDeferred: (() => void) | undefined;
  #over = false;

  /** `sockets`: it keeps them, too. */
  constructor(argv: readonly string[], env: NodeJS.ProcessEnv, sockets: InheritedSockets = new Map(), deferred = new DeferredQueue()) {
    this.#deferred = deferred;
    const [program, ...args] = argv;
    const kept = handedOn(sockets);
    const child = spawn(program ?? "", args, {
      stdio: ["ignore", "inherit", "inherit", "ipc", ...kept.fds],
      detached: true,
      env: { ...env, ...kept.env },
    });
    this.#process = child;
    child.on("message", (messages) => this.events.messages(messages as FromIt[]));
    child.once("error", (error: NodeJS.ErrnoException) => this.#ended({ code: null, signal: error.code ?? "error" }));
    child.once("exit", (code, signal) => this.#ended({ code, signal }));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Its end has not been seen yet. */
  get exists(): boolean {
    return !this.#over;
  }

  get isUp(): boolean {
    return this.#process.connected;
  }

  send(message: ToIt, urgency: Urgency = "turn"): void {
    this.#outbox.push(message);
    if (urgency === "deferred") {
      if (!this.#flushing) this.#cancelDeferred ??= this.#deferred.add(() => void this.flush());
    } else if (urgency === "now" && monotonicMs() - this.#flushedAt > BURST_MS) void this.flush();
    else if (!this.#flushing) {
      this.#flushing = true;
      setImmediate(() => void this.flush());
    }
  }

  /** Resolves when all of it is on its way, so that it arrives even if this process is killed; or the channel broke. */
  flush(): Promise<void> {
    this.#flushing = false;
    this.#cancelDeferred?.();
    this.#cancelDeferred = undefined;
    const messages = this.#outbox;
    this.#outbox = [];
    if (messages.length === 0 || !this.isUp) return Promise.resolve();
    this.#flushedAt = monotonicMs();
    // A channel that breaks in this moment shows by its `exit`, and whatever was in it is told to the next one.
    return new Promise((resolve) => this.#process.send(messages, () => resolve()));
  }

  /** Resolves when it is on its way: then it arrives even if this process is killed. */
  shareSocket(message: ListeningSocket, socket: InheritedSocket | undefined): Promise<void> {
    void this.flush();
    // One that ends meanwhile needs it no more: the next is started with it.
    return new Promise((resolve) => (this.isUp ? this.#process.send([message], socket as never, {}, () => resolve()) : resolve()));
  }

  kill(signal: "SIGKILL" | "SIGUSR1" = "SIGKILL"): void {
    this.#process.kill(signal);
  }

  #ended(how: ProcessExit): void {
    if (this.#over) return;
    this.#over = true;
    this.events.exit(how);
  }
}

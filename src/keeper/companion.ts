/** One process of procman's own, with a channel to it. */

import { type ChildProcess, spawn } from "node:child_process";
import type { SocketWord } from "../contract/keeper-protocol.ts";
import { handedOn, type KeptSocket, type KeptSockets } from "../os/kept-sockets.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { later } from "./later.ts";

export type Exit = { readonly code: number | null; readonly signal: string | null };

export type CompanionEvents<Message> = {
  readonly messages: (messages: readonly Message[]) => void;
  readonly exit: (how: Exit) => void;
};

/** What comes closer together than this goes together. Milliseconds. */
const BURST_MS = 1;

export class Companion<ToIt, FromIt> {
  /** Whoever listens may change: a newcomer is heard by an upgrade before it takes its place. */
  events: CompanionEvents<FromIt> = { messages: () => undefined, exit: () => undefined };
  readonly #process: ChildProcess;
  #outbox: ToIt[] = [];
  #flushing = false;
  #flushedAt = 0;
  #takeBack: (() => void) | undefined;
  #over = false;

  /** `sockets`: it keeps them, too. */
  constructor(argv: readonly string[], env: NodeJS.ProcessEnv, sockets: KeptSockets = new Map()) {
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

  /** All messages of one turn travel as one array. */
  send(message: ToIt): void {
    this.#outbox.push(message);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => void this.flush());
  }

  /** For what is urgent: at once, unless something went just before; then with all messages of this turn, as many may come together. */
  sendNow(message: ToIt): void {
    this.send(message);
    if (monotonicMs() - this.#flushedAt > BURST_MS) void this.flush();
  }

  /** For what nobody waits for; it goes with what is sent meanwhile, in order. */
  sendLater(message: ToIt): void {
    this.#outbox.push(message);
    if (!this.#flushing) this.#takeBack ??= later(() => void this.flush());
  }

  /** Resolves when all of it is on its way, so that it arrives even if this process is killed; or the channel broke. */
  flush(): Promise<void> {
    this.#flushing = false;
    this.#takeBack?.();
    this.#takeBack = undefined;
    const messages = this.#outbox;
    this.#outbox = [];
    if (messages.length === 0 || !this.isUp) return Promise.resolve();
    this.#flushedAt = monotonicMs();
    // A channel that breaks in this moment shows by its `exit`, and whatever was in it is told to the next one.
    return new Promise((resolve) => this.#process.send(messages, () => resolve()));
  }

  /** Resolves when it is on its way: then it arrives even if this process is killed. */
  give(message: SocketWord, socket: KeptSocket | undefined): Promise<void> {
    void this.flush();
    // One that ends meanwhile needs it no more: the next is started with it.
    return new Promise((resolve) => (this.isUp ? this.#process.send([message], socket as never, {}, () => resolve()) : resolve()));
  }

  kill(signal: "SIGKILL" | "SIGUSR1" = "SIGKILL"): void {
    this.#process.kill(signal);
  }

  #ended(how: Exit): void {
    if (this.#over) return;
    this.#over = true;
    this.events.exit(how);
  }
}

/** The balancer's further processes: each serves the same listening sockets as the first. */
import { type ChildProcess, fork } from "node:child_process";
import type { Front, FrontReport } from "../contract/balancer-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import type { Half } from "./moving.ts";
import { type Load, NO_LOAD } from "./shares.ts";
import type { Handle } from "./sockets.ts";

export type ToMate =
  | { readonly t: "fronts"; readonly serial: number; readonly fronts: readonly Front[] }
  /** With the socket. */
  | { readonly t: "listen"; readonly id: string }
  | { readonly t: "unlisten"; readonly id: string }
  /** It gives so many of its connections. */
  | { readonly t: "give"; readonly serial: number; readonly count: number }
  | Half
  | { readonly t: "close" | "retire"; readonly serial: number };

export type FromMate =
  | { readonly t: "applied"; readonly serial: number }
  | Half
  | { readonly t: "report"; readonly reports: readonly FrontReport[]; readonly clients: number; readonly load: Load };

/** Before one that was killed is started again. Milliseconds. */
const AGAIN_MS = 100;
/** It has this long to end when it is alone. Milliseconds. */
const END_MS = 500;

export class Mate {
  readonly #file: string;
  readonly #turn: number;
  readonly #changed: () => void;
  /** Resolves what waits for an answer to the message of this number. */
  readonly #waiting = new Map<number, () => void>();
  #process: ChildProcess;
  #serial = 0;
  #isGone = false;
  #fronts: readonly Front[] = [];
  readonly #sockets = new Map<string, Handle>();
  #closed = false;
  reports: readonly FrontReport[] = [];
  clients = 0;
  load = NO_LOAD;
  /** What is not known to be on its way. */
  readonly #unsent = new Set<(isSent: boolean) => void>();
  /** Takes what it gives. */
  #taken: (half: Half, socket: Handle | undefined) => void = () => undefined;

  /** `turn`: its number. `changed`: it has reported. */
  constructor(file: string, turn: number, changed: () => void) {
    this.#file = file;
    this.#turn = turn;
    this.#changed = changed;
    this.#process = this.#start();
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** It takes no clients: it has ended, and is about to be started again. */
  get isGone(): boolean {
    return this.#isGone;
  }

  async apply(fronts: readonly Front[]): Promise<void> {
    this.#fronts = fronts;
    await this.#ask({ t: "fronts", serial: ++this.#serial, fronts });
  }

  listen(id: string, socket: Handle): void {
    if (this.#sockets.get(id) === socket) return;
    this.#sockets.set(id, socket);
    this.#send({ t: "listen", id }, socket);
  }

  unlisten(id: string): void {
    if (!this.#sockets.delete(id)) return;
    this.#send({ t: "unlisten", id });
  }

  /** Resolves when it has given up to so many of its connections, half by half. */
  async give(count: number, taken: (half: Half, socket: Handle | undefined) => void): Promise<void> {
    this.#taken = taken;
    await this.#ask({ t: "give", serial: ++this.#serial, count });
  }

  /** Resolves with whether it is on its way. */
  send(half: Half, socket: Handle): Promise<boolean> {
    if (this.#isGone || !this.#process.connected) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#unsent.add(resolve);
      this.#process.send(half, socket as never, {}, (error) => {
        this.#unsent.delete(resolve);
        resolve(error === null);
      });
    });
  }

  /** Takes no clients any more; `retire`: those who wait may wait on. Resolves when `clients` counts all that it has taken. */
  async leave(how: "close" | "retire"): Promise<void> {
    this.#closed = true;
    await this.#ask({ t: how, serial: ++this.#serial });
  }

  /** Resolves when it has ended: an orphan would stay a zombie where PID 1 awaits nobody. */
  async end(): Promise<void> {
    this.#closed = true;
    const { exitCode, signalCode, connected } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    if (connected) this.#process.disconnect();
    const late = setTimeout(() => this.#process.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(late);
  }

  #start(): ChildProcess {
    const child = fork(this.#file, [`--mate=${this.#turn}`], { detached: leadsSession(), stdio: ["ignore", "inherit", "inherit", "ipc"] });
    child.on("message", (message, socket) => this.#onMessage(message as FromMate, socket as Handle | undefined));
    child.once("error", () => this.#onGone());
    child.once("exit", () => this.#onGone());
    return child;
  }

  #onMessage(message: FromMate, socket: Handle | undefined): void {
    if (message.t === "applied") return this.#answer(message.serial);
    if (message.t !== "report") return this.#taken(message, socket);
    this.reports = message.reports;
    this.clients = message.clients;
    this.load = message.load;
    this.#changed();
  }

  /** Resolves with its answer, or when nobody is there to give one. */
  #ask(message: ToMate & { readonly serial: number }): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    const answered = new Promise<void>((resolve) => this.#waiting.set(message.serial, resolve));
    this.#send(message);
    return answered;
  }

  #answer(serial: number): void {
    this.#waiting.get(serial)?.();
    this.#waiting.delete(serial);
  }

  /** Its clients are gone with it. Nobody waits for its answers. */
  #onGone(): void {
    this.#isGone = true;
    this.reports = [];
    this.clients = 0;
    this.load = NO_LOAD;
    for (const serial of [...this.#waiting.keys()]) this.#answer(serial);
    for (const resolve of this.#unsent) resolve(false);
    this.#unsent.clear();
    this.#changed();
    if (this.#closed) return;
    setTimeout(() => {
      if (this.#closed) return;
      this.#process = this.#start();
      this.#isGone = false;
      this.#send({ t: "fronts", serial: ++this.#serial, fronts: this.#fronts });
      for (const [id, socket] of this.#sockets) this.#send({ t: "listen", id }, socket);
    }, AGAIN_MS);
  }

  /** A channel that breaks in this moment shows by its `exit`. */
  #send(message: ToMate, socket?: Handle): void {
    if (this.#process.connected) this.#process.send(message, socket as never, {}, () => undefined);
  }
}

/** Under a keeper it does. Linux shares out time by sessions (autogroup: sched(7)), and then each process counts as much as an instance does. */
function leadsSession(): boolean {
  return processStat(process.pid)?.session === process.pid;
}

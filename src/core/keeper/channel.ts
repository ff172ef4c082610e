/** One component that the keeper runs: started, restarted with back-off, killed if it hangs; messages are sent now or a little later. */
import { type ChildProcess, spawn } from "node:child_process";
import type { ListeningSocket, SocketCopy } from "../ipc/keeper-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { type InheritedSocket, type InheritedSockets, inheritance } from "../os/inherited-sockets.ts";
import { DeferredQueue } from "./deferred-queue.ts";

/** Delays before the restarts in a row, in milliseconds; the last one repeats. After `STABLE_MS` of uptime they begin again. */
const DELAYS_MS = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000];
const STABLE_MS = 2_000;

/** Messages with urgency `now` that are closer together than this are sent as one array. Milliseconds. */
const BURST_MS = 1;

const PING_MS = 10_000;
/** After so many pings without an answer a process hangs. Pings are counted, so time in which the keeper was stopped doesn't count. */
const MAX_UNANSWERED = 3;

export type ProcessExit = { readonly code: number | null; readonly signal: string | null };

export type ProcessEvents<Message> = {
  /** `socket`: a handle that came with them. */
  readonly messages: (messages: readonly Message[], socket?: unknown) => void;
  readonly exit: (how: ProcessExit) => void;
};

/**
 * `now`: at once, unless something was sent within the last millisecond; then as `turn`. `turn`: all messages of one
 * turn of the event loop as one array. `deferred`: a little later, or with what is sent meanwhile, in order.
 */
export type Urgency = "now" | "turn" | "deferred";

export type ChannelOptions<Message> = {
  /** Asked for each start: an upgrade changes it. */
  readonly argv: () => readonly string[];
  readonly environment: () => NodeJS.ProcessEnv;
  /** Listening sockets that it holds for a later keeper. */
  readonly sockets?: () => InheritedSockets;
  /** Decides when deferred messages are sent. */
  readonly deferred?: DeferredQueue;
  /** How often in a row it is restarted before it stays down. */
  readonly limit: number;
  readonly onStart?: () => void;
  readonly onMessages: (messages: readonly Message[], socket?: unknown) => void;
  /** `final`: it stays down. */
  readonly onExit: (how: ProcessExit & { readonly final: boolean }) => void;
};

export type PingOptions<Sent> = {
  /** Its answer is told by `answered`. */
  readonly message: Sent;
  /** Called before the process is killed. */
  readonly onHang: (silentMs: number) => void;
};

export class Channel<Sent, Received> {
  readonly #options: ChannelOptions<Received>;
  #current: ComponentProcess<Sent, Received> | undefined;
  /** All that run: the current one, candidates and replaced ones. */
  readonly #processes = new Set<ComponentProcess<Sent, Received>>();
  #failures = 0;
  #startedAt = 0;
  #wanted = true;
  #timer: NodeJS.Timeout | undefined;
  readonly #watchdog = new Watchdog();

  constructor(options: ChannelOptions<Received>) {
    this.#options = options;
  }

  get current(): ComponentProcess<Sent, Received> | undefined {
    return this.#current;
  }

  /** The exit of at least one has not been seen yet. */
  get isRunning(): boolean {
    return [...this.#processes].some(({ isRunning }) => isRunning);
  }

  /** Pids of all that run. */
  get pids(): readonly number[] {
    return [...this.#processes].flatMap(({ isRunning, pid }) => (isRunning && pid !== undefined ? [pid] : []));
  }

  get isUp(): boolean {
    return this.#current?.isUp ?? false;
  }

  /** See `ComponentProcess.hasAnswered`. */
  get hasAnswered(): boolean {
    return this.#current?.hasAnswered ?? false;
  }

  start(): void {
    this.promote(this.spawnCandidate(this.#options.argv()));
  }

  /** From now on the current process is pinged, and killed if it hangs. */
  startPings({ message, onHang }: PingOptions<Sent>): void {
    setInterval(() => {
      const silentMs = this.#watchdog.count();
      if (silentMs !== undefined && this.#current !== undefined) {
        onHang(silentMs);
        this.#current.kill();
      }
      this.send(message);
    }, PING_MS);
  }

  /** The current process has answered a ping. */
  answered(): void {
    this.#watchdog.answered();
  }

  /** Starts another process beside the current one; its messages are ignored until `promote`. */
  spawnCandidate(argv: readonly string[]): ComponentProcess<Sent, Received> {
    const { environment, sockets, deferred } = this.#options;
    const candidate = new ComponentProcess<Sent, Received>(argv, environment(), sockets?.(), deferred);
    for (const each of this.#processes) if (!each.isRunning) this.#processes.delete(each);
    this.#processes.add(candidate);
    return candidate;
  }

  /** Makes this the current process; messages and exit of the former one are ignored from now on. */
  promote(candidate: ComponentProcess<Sent, Received>): void {
    clearTimeout(this.#timer);
    this.#current = candidate;
    this.#startedAt = monotonicMs();
    this.#watchdog.answered();
    candidate.listen({
      messages: (messages, socket) => this.#current === candidate && this.#options.onMessages(messages, socket),
      exit: (how) => this.#current === candidate && this.#onExit(how),
    });
    this.#options.onStart?.();
  }

  /** While it is down, messages are dropped: the next process gets a snapshot. */
  send(message: Sent, urgency?: Urgency): void {
    this.#current?.send(message, urgency);
  }

  /** See `ComponentProcess.flush`. */
  async flush(): Promise<void> {
    await this.#current?.flush();
  }

  /** Sends a socket to all that run: the current one, candidates and replaced ones. */
  async shareSocket(message: ListeningSocket, socket?: InheritedSocket): Promise<void> {
    await Promise.all([...this.#processes].map((candidate) => candidate.shareSocket(message, socket)));
  }

  /** Ends the restarts: the component isn't started again. */
  retire(): void {
    this.#wanted = false;
    clearTimeout(this.#timer);
  }

  kill(): void {
    this.retire();
    for (const candidate of this.#processes) if (candidate.isRunning) candidate.kill();
  }

  #onExit(how: ProcessExit): void {
    this.#current = undefined;
    if (monotonicMs() - this.#startedAt > STABLE_MS) this.#failures = 0;
    const final = !this.#wanted || this.#failures >= this.#options.limit;
    this.#options.onExit({ ...how, final });
    // `onExit` may have promoted another one.
    if (final || !this.#wanted || this.#current !== undefined) return;
    const delay = DELAYS_MS[Math.min(this.#failures, DELAYS_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#timer = setTimeout(() => this.start(), delay);
  }
}

/** A process of a component, with its IPC channel. */
export class ComponentProcess<Sent, Received> {
  #events: ProcessEvents<Received> = { messages: () => undefined, exit: () => undefined };
  readonly #process: ChildProcess;
  #outbox: Sent[] = [];
  #flushing = false;
  #flushedAt = 0;
  readonly #deferred: DeferredQueue;
  #cancelDeferred: (() => void) | undefined;
  #exit: ProcessExit | undefined;
  /** Called when it has ended: Node forgets the callbacks of messages behind a socket that the process hasn't received (seen on 20.20). */
  readonly #unsent = new Set<() => void>();
  #hasAnswered = false;

  /** `sockets`: inherited by the process. */
  constructor(
    argv: readonly string[],
    env: NodeJS.ProcessEnv,
    sockets: InheritedSockets = new Map(),
    deferred = new DeferredQueue(),
  ) {
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
  listen(events: ProcessEvents<Received>): void {
    this.#events = events;
    const exit = this.#exit;
    if (exit !== undefined) queueMicrotask(() => events.exit(exit));
  }

  /** Its exit has not been seen yet. */
  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /** Whether the component has sent a message, so that it reads what is sent to it. */
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
    return this.#sent((done) => this.#process.send(messages, done));
  }

  /** Resolves when it is in the channel, so that it arrives even if this process is killed; or when the channel broke. */
  shareSocket(message: ListeningSocket | SocketCopy, socket: InheritedSocket | undefined): Promise<void> {
    void this.flush();
    // A process that ends meanwhile doesn't need it: the next one inherits the socket.
    if (!this.isUp) return Promise.resolve();
    return this.#sent((done) => this.#process.send([message], socket as never, {}, done));
  }

  #sent(send: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#unsent.delete(done);
        resolve();
      };
      this.#unsent.add(done);
      send(done);
    });
  }

  kill(signal: "SIGKILL" | "SIGUSR1" = "SIGKILL"): void {
    this.#process.kill(signal);
  }

  #onExit(how: ProcessExit): void {
    if (this.#exit !== undefined) return;
    this.#exit = how;
    for (const done of [...this.#unsent]) done();
    this.#events.exit(how);
  }
}

/** Counts pings that were not answered. */
export class Watchdog {
  #unanswered = 0;

  /** The process has answered, or a new one was started. */
  answered(): void {
    this.#unanswered = 0;
  }

  /** Called before each ping. Returns how long the process has not answered if it hangs; its successor gets the same time. */
  count(): number | undefined {
    const unanswered = this.#unanswered;
    this.#unanswered = unanswered < MAX_UNANSWERED ? unanswered + 1 : 1;
    return unanswered < MAX_UNANSWERED ? undefined : unanswered * PING_MS;
  }
}

/** Keeps one of procman's internal processes up: restarts it with back-off when it ends. */
import type { ListeningSocket } from "../ipc/keeper-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import type { InheritedSocket, InheritedSockets } from "../os/inherited-sockets.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import { IpcProcess, type ProcessExit, type Urgency } from "./ipc-process.ts";

/** Delays before the restarts in a row, in milliseconds; the last one repeats. After `STABLE_MS` of uptime they begin again. */
const DELAYS_MS = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000];
const STABLE_MS = 2_000;

export type RestartingProcessOptions<Message> = {
  /** Asked for each start: an upgrade changes it. */
  readonly argv: () => readonly string[];
  readonly environment: () => NodeJS.ProcessEnv;
  /** Listening sockets that it holds for a later keeper. */
  readonly sockets?: () => InheritedSockets;
  /** Decides when deferred messages are sent. */
  readonly deferred?: DeferredQueue;
  /** How often in a row it is restarted before it stays down. */
  readonly limit: number;
  readonly onStart: () => void;
  readonly onMessages: (messages: readonly Message[], socket?: unknown) => void;
  /** `final`: it stays down. */
  readonly onExit: (how: ProcessExit & { readonly final: boolean }) => void;
};

export class RestartingProcess<Sent, Received> {
  readonly #options: RestartingProcessOptions<Received>;
  #current: IpcProcess<Sent, Received> | undefined;
  /** All that run: the current one, candidates and replaced ones. */
  readonly #processes = new Set<IpcProcess<Sent, Received>>();
  #failures = 0;
  #startedAt = 0;
  #wanted = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RestartingProcessOptions<Received>) {
    this.#options = options;
  }

  get current(): IpcProcess<Sent, Received> | undefined {
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

  /** See `IpcProcess.hasAnswered`. */
  get hasAnswered(): boolean {
    return this.#current?.hasAnswered ?? false;
  }

  start(): void {
    this.promote(this.spawnCandidate(this.#options.argv()));
  }

  /** Starts another process beside the current one; its messages are ignored until `promote`. */
  spawnCandidate(argv: readonly string[]): IpcProcess<Sent, Received> {
    const { environment, sockets, deferred } = this.#options;
    const candidate = new IpcProcess<Sent, Received>(argv, environment(), sockets?.(), deferred);
    for (const each of this.#processes) if (!each.isRunning) this.#processes.delete(each);
    this.#processes.add(candidate);
    return candidate;
  }

  /** Makes this the current process; messages and exit of the former one are ignored from now on. */
  promote(candidate: IpcProcess<Sent, Received>): void {
    clearTimeout(this.#timer);
    this.#current = candidate;
    this.#startedAt = monotonicMs();
    candidate.listen({
      messages: (messages, socket) => this.#current === candidate && this.#options.onMessages(messages, socket),
      exit: (how) => this.#current === candidate && this.#onExit(how),
    });
    this.#options.onStart();
  }

  /** While it is down, messages are dropped: the next process gets a snapshot. */
  send(message: Sent, urgency?: Urgency): void {
    this.#current?.send(message, urgency);
  }

  /** See `IpcProcess.flush`. */
  async flush(): Promise<void> {
    await this.#current?.flush();
  }

  /** Sends a socket to all that run: the current one, candidates and replaced ones. */
  async shareSocket(message: ListeningSocket, socket?: InheritedSocket): Promise<void> {
    await Promise.all([...this.#processes].map((candidate) => candidate.shareSocket(message, socket)));
  }

  /** It isn't started again. */
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

/** Keeps one process of procman's own up: starts it again when it ends. */
import type { ListeningSocket } from "../ipc/keeper-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import type { InheritedSocket, InheritedSockets } from "../os/inherited-sockets.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import { IpcProcess, type ProcessExit, type Urgency } from "./ipc-process.ts";

/** Delays of the starts after an end, in milliseconds; the last one goes on. A life of `STABLE_MS` begins anew. */
const DELAYS_MS = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000];
const STABLE_MS = 2_000;

export type RestartingProcessOptions<Message> = {
  /** Asked for each start: an upgrade changes it. */
  readonly argv: () => readonly string[];
  readonly environment: () => NodeJS.ProcessEnv;
  /** Listening sockets that it keeps for a later keeper. */
  readonly sockets?: () => InheritedSockets;
  /** Of the keeper: when its deferred messages go. */
  readonly deferred?: DeferredQueue;
  /** How often in a row it is started again before it stays down. */
  readonly limit: number;
  readonly onStart: () => void;
  readonly onMessages: (messages: readonly Message[]) => void;
  /** `final`: it stays down. */
  readonly onExit: (how: ProcessExit & { readonly final: boolean }) => void;
};

export class RestartingProcess<ToIt, FromIt> {
  readonly #options: RestartingProcessOptions<FromIt>;
  #current: IpcProcess<ToIt, FromIt> | undefined;
  /** All that live, in office or not. */
  readonly #companions = new Set<IpcProcess<ToIt, FromIt>>();
  #failures = 0;
  #startedAt = 0;
  #wanted = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RestartingProcessOptions<FromIt>) {
    this.#options = options;
  }

  get current(): IpcProcess<ToIt, FromIt> | undefined {
    return this.#current;
  }

  /** The end of one has not been seen yet. */
  get exists(): boolean {
    return [...this.#companions].some(({ exists }) => exists);
  }

  get isUp(): boolean {
    return this.#current?.isUp ?? false;
  }

  start(): void {
    this.promote(this.spawnCandidate(this.#options.argv()));
  }

  /** A newcomer beside the one that is up; nobody hears it yet. */
  spawnCandidate(argv: readonly string[]): IpcProcess<ToIt, FromIt> {
    const { environment, sockets, deferred } = this.#options;
    const companion = new IpcProcess<ToIt, FromIt>(argv, environment(), sockets?.(), deferred);
    for (const each of this.#companions) if (!each.exists) this.#companions.delete(each);
    this.#companions.add(companion);
    return companion;
  }

  /** From now on this is the one; whoever was it before is nobody's any more. */
  promote(companion: IpcProcess<ToIt, FromIt>): void {
    clearTimeout(this.#timer);
    this.#current = companion;
    this.#startedAt = monotonicMs();
    companion.events = {
      messages: (messages) => this.#current === companion && this.#options.onMessages(messages),
      exit: (how) => this.#current === companion && this.#ended(how),
    };
    this.#options.onStart();
  }

  /** While it is down, messages are dropped: its next start gets a snapshot. */
  send(message: ToIt, urgency?: Urgency): void {
    this.#current?.send(message, urgency);
  }

  /** See `IpcProcess.flush`. */
  async flush(): Promise<void> {
    await this.#current?.flush();
  }

  /** To all that live, in office or not. */
  async keep(message: ListeningSocket, socket?: InheritedSocket): Promise<void> {
    await Promise.all([...this.#companions].map((companion) => companion.shareSocket(message, socket)));
  }

  /** It isn't started again. */
  retire(): void {
    this.#wanted = false;
    clearTimeout(this.#timer);
  }

  kill(): void {
    this.retire();
    for (const companion of this.#companions) if (companion.exists) companion.kill();
  }

  #ended(how: ProcessExit): void {
    this.#current = undefined;
    if (monotonicMs() - this.#startedAt > STABLE_MS) this.#failures = 0;
    const final = !this.#wanted || this.#failures >= this.#options.limit;
    this.#options.onExit({ ...how, final });
    // Whoever heard of the end may have put another in its place.
    if (final || !this.#wanted || this.#current !== undefined) return;
    const delay = DELAYS_MS[Math.min(this.#failures, DELAYS_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#timer = setTimeout(() => this.start(), delay);
  }
}

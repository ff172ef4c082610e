/** Keeps one process of procman's own up: starts it again when it ends. */
import type { SocketWord } from "../contract/keeper-protocol.ts";
import type { KeptSocket, KeptSockets } from "../os/kept-sockets.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { Companion, type Exit } from "./companion.ts";

/** Delays of the starts after an end, in milliseconds; the last one goes on. A life of `STABLE_MS` begins anew. */
const DELAYS_MS = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000];
const STABLE_MS = 2_000;

export type AttendantOptions<Message> = {
  /** Asked for each start: an upgrade changes it. */
  readonly argv: () => readonly string[];
  readonly environment: () => NodeJS.ProcessEnv;
  /** Listening sockets that it keeps for a later keeper. */
  readonly sockets?: () => KeptSockets;
  /** How often in a row it is started again before it stays down. */
  readonly limit: number;
  readonly onStart: () => void;
  readonly onMessages: (messages: readonly Message[]) => void;
  /** `final`: it stays down. */
  readonly onExit: (how: Exit & { readonly final: boolean }) => void;
};

export class Attendant<ToIt, FromIt> {
  readonly #options: AttendantOptions<FromIt>;
  #current: Companion<ToIt, FromIt> | undefined;
  /** All that live, in office or not. */
  readonly #companions = new Set<Companion<ToIt, FromIt>>();
  #failures = 0;
  #startedAt = 0;
  #wanted = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AttendantOptions<FromIt>) {
    this.#options = options;
  }

  get current(): Companion<ToIt, FromIt> | undefined {
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
    this.take(this.tryOut(this.#options.argv()));
  }

  /** A newcomer beside the one that is up; nobody hears it yet. */
  tryOut(argv: readonly string[]): Companion<ToIt, FromIt> {
    const companion = new Companion<ToIt, FromIt>(argv, this.#options.environment(), this.#options.sockets?.());
    for (const each of this.#companions) if (!each.exists) this.#companions.delete(each);
    this.#companions.add(companion);
    return companion;
  }

  /** From now on this is the one; whoever was it before is nobody's any more. */
  take(companion: Companion<ToIt, FromIt>): void {
    clearTimeout(this.#timer);
    this.#current = companion;
    this.#startedAt = monotonicMs();
    companion.events = {
      messages: (messages) => this.#current === companion && this.#options.onMessages(messages),
      exit: (how) => this.#current === companion && this.#ended(how),
    };
    this.#options.onStart();
  }

  /** While it is down, messages are dropped: its next start gets a fresh account. */
  send(message: ToIt): void {
    this.#current?.send(message);
  }

  /** See `Companion.sendNow`. */
  sendNow(message: ToIt): void {
    this.#current?.sendNow(message);
  }

  /** See `Companion.sendLater`. */
  sendLater(message: ToIt): void {
    this.#current?.sendLater(message);
  }

  /** See `Companion.flush`. */
  async flush(): Promise<void> {
    await this.#current?.flush();
  }

  /** To all that live, in office or not. */
  async keep(message: SocketWord, socket?: KeptSocket): Promise<void> {
    await Promise.all([...this.#companions].map((companion) => companion.give(message, socket)));
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

  #ended(how: Exit): void {
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

/** Looks once a second whether the state folder is still there, and asks now and then whether the service answers. */

const LOOK_MS = 1_000;
const LOOKS_PER_PING = 10;
/** So many pings without an answer, and it hangs. Counted instead of measured: time in which the keeper itself was stopped doesn't count. */
const PATIENCE = 3;

export type WatchdogEvents = {
  readonly look: () => void;
  readonly ping: () => void;
  readonly hangs: (silentMs: number) => void;
};

export class Watchdog {
  readonly #events: WatchdogEvents;
  #looks = 0;
  #unanswered = 0;

  constructor(events: WatchdogEvents) {
    this.#events = events;
  }

  start(): void {
    setInterval(() => this.beat(), LOOK_MS);
  }

  /** The service has answered, or a new one was started. */
  answered(): void {
    this.#unanswered = 0;
  }

  beat(): void {
    this.#looks += 1;
    this.#events.look();
    if (this.#looks % LOOKS_PER_PING !== 0) return;
    if (this.#unanswered >= PATIENCE) {
      this.#events.hangs(this.#unanswered * LOOKS_PER_PING * LOOK_MS);
      this.#unanswered = 0;
    }
    this.#unanswered += 1;
    this.#events.ping();
  }
}

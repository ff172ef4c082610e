/** Checks the state folder once a second, and pings the service every 10 s. */

const CHECK_MS = 1_000;
const CHECKS_PER_PING = 10;
/** After so many pings without an answer the service hangs. Pings are counted, so time in which the keeper was stopped doesn't count. */
const MAX_UNANSWERED = 3;

export type WatchdogEvents = {
  readonly checkStateDir: () => void;
  readonly ping: () => void;
  readonly onHang: (silentMs: number) => void;
};

export class Watchdog {
  readonly #events: WatchdogEvents;
  #checks = 0;
  #unanswered = 0;

  constructor(events: WatchdogEvents) {
    this.#events = events;
  }

  start(): void {
    setInterval(() => this.check(), CHECK_MS);
  }

  /** The service has answered, or a new one was started. */
  answered(): void {
    this.#unanswered = 0;
  }

  check(): void {
    this.#checks += 1;
    this.#events.checkStateDir();
    if (this.#checks % CHECKS_PER_PING !== 0) return;
    if (this.#unanswered >= MAX_UNANSWERED) {
      this.#events.onHang(this.#unanswered * CHECKS_PER_PING * CHECK_MS);
      this.#unanswered = 0;
    }
    this.#unanswered += 1;
    this.#events.ping();
  }
}

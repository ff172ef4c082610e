/** Logs refused requests of consumers: the first of each kind, then at most one a minute, with the number of those in between. */

/** Milliseconds. */
const EVERY_MS = 60_000;
const KINDS_LIMIT = 1_000;

type LoggedRefusal = { readonly at: number; more: number };

export class RefusalLog {
  readonly #write: (text: string) => void;
  readonly #now: () => number;
  readonly #logged = new Map<string, LoggedRefusal>();

  /** `now`: monotonic milliseconds. */
  constructor(write: (text: string) => void, now: () => number = () => performance.now()) {
    this.#write = write;
    this.#now = now;
  }

  add(consumer: string, kind: string, text: string): void {
    const key = JSON.stringify([consumer, kind]);
    const now = this.#now();
    const before = this.#logged.get(key);
    if (before !== undefined && now - before.at < EVERY_MS) {
      before.more += 1;
      return;
    }
    if (this.#logged.size >= KINDS_LIMIT) this.#logged.clear();
    this.#logged.set(key, { at: now, more: 0 });
    this.#write(
      before === undefined || before.more === 0 ? text : `${text} (and ${before.more} times since the last such line)`,
    );
  }
}

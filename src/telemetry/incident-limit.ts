/** How many incidents are written: a storm of restarts must fill neither disk nor time. */

/** Of one process: so many at once, then one in so many milliseconds. Of all together. */
const ONE = { burst: 10, everyMs: 1_000 } as const;
const ALL = { burst: 50, everyMs: 100 } as const;
/** A process that had none for so long is heard even while others storm. Milliseconds. */
const QUIET_MS = 60_000;

type Held<Of> = { readonly item: Of; readonly count: number };

type Account = { bucket: Bucket; last: number };

export type Admitted<Of> = { readonly item: Of; readonly leftOut: number };

export class IncidentLimit<Of> {
  readonly #all = new Bucket(ALL.burst, ALL.everyMs);
  readonly #accounts = new Map<string, Account>();
  /** The latest of each process that had to be left out, and how many there were since the last one that was not. */
  readonly #held = new Map<string, Held<Of>>();

  /** undefined: it comes too fast. The last of these comes later, by `release`. */
  admit(id: string, item: Of, now: number): Admitted<Of> | undefined {
    const held = this.#held.get(id);
    if (this.#pays(id, now)) {
      this.#held.delete(id);
      return { item, leftOut: held?.count ?? 0 };
    }
    this.#held.set(id, { item, count: (held?.count ?? 0) + 1 });
    return undefined;
  }

  /** What was held back and may pass by now. */
  release(now: number): readonly Admitted<Of>[] {
    const passed: Admitted<Of>[] = [];
    for (const [id, { item, count }] of this.#held)
      if (this.#pays(id, now)) {
        this.#held.delete(id);
        passed.push({ item, leftOut: count - 1 });
      }
    return passed;
  }

  /** Whatever is held back, as there is no later. */
  drain(): readonly Admitted<Of>[] {
    const left = [...this.#held.values()].map(({ item, count }) => ({ item, leftOut: count - 1 }));
    this.#held.clear();
    return left;
  }

  get isHolding(): boolean {
    return this.#held.size > 0;
  }

  forget(id: string): void {
    this.#accounts.delete(id);
  }

  #pays(id: string, now: number): boolean {
    const known = this.#accounts.get(id);
    const account = known ?? { bucket: new Bucket(ONE.burst, ONE.everyMs), last: Number.NEGATIVE_INFINITY };
    if (known === undefined) this.#accounts.set(id, account);
    if (!account.bucket.has(now)) return false;
    const isQuiet = now - account.last > QUIET_MS;
    if (!this.#all.has(now) && !isQuiet) return false;
    this.#all.take();
    account.bucket.take();
    account.last = now;
    return true;
  }
}

class Bucket {
  readonly #burst: number;
  readonly #everyMs: number;
  #tokens: number;
  #at: number | undefined;

  constructor(burst: number, everyMs: number) {
    this.#burst = burst;
    this.#everyMs = everyMs;
    this.#tokens = burst;
  }

  has(now: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - (this.#at ?? now)) / this.#everyMs);
    this.#at = now;
    return this.#tokens >= 1;
  }

  take(): void {
    this.#tokens = Math.max(0, this.#tokens - 1);
  }
}

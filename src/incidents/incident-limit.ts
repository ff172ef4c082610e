/** Limits the rate of incidents, so that a storm of restarts fills neither disk nor time. */

/** For one process and for all together: a burst, then one each `everyMs` milliseconds. */
const ONE = { burst: 10, everyMs: 1_000 } as const;
const ALL = { burst: 50, everyMs: 100 } as const;
/** A process without incidents for this long is exempt from the limit for all. Milliseconds. */
const QUIET_MS = 60_000;

type HeldIncidents<Of> = { readonly item: Of; readonly count: number };

type ProcessBudget = { bucket: TokenBucket; last: number };

export type AdmittedIncident<Of> = { readonly item: Of; readonly leftOut: number };

export class IncidentLimit<Of> {
  readonly #all = new TokenBucket(ALL.burst, ALL.everyMs);
  readonly #accounts = new Map<string, ProcessBudget>();
  /** The latest incident of each process that was held back, and how many there were since the last admitted one. */
  readonly #held = new Map<string, HeldIncidents<Of>>();

  /** undefined: held back because of the rate. `release` returns the last of them later. */
  admit(id: string, item: Of, now: number): AdmittedIncident<Of> | undefined {
    const held = this.#held.get(id);
    if (this.#pays(id, now)) {
      this.#held.delete(id);
      return { item, leftOut: held?.count ?? 0 };
    }
    this.#held.set(id, { item, count: (held?.count ?? 0) + 1 });
    return undefined;
  }

  /** Incidents that were held back and may be written now. */
  release(now: number): readonly AdmittedIncident<Of>[] {
    const passed: AdmittedIncident<Of>[] = [];
    for (const [id, { item, count }] of this.#held)
      if (this.#pays(id, now)) {
        this.#held.delete(id);
        passed.push({ item, leftOut: count - 1 });
      }
    return passed;
  }

  /** All incidents that are held back; called at the end. */
  drain(): readonly AdmittedIncident<Of>[] {
    const left = [...this.#held.values()].map(({ item, count }) => ({ item, leftOut: count - 1 }));
    this.#held.clear();
    return left;
  }

  get isHolding(): boolean {
    return this.#held.size > 0;
  }

  remove(id: string): void {
    this.#accounts.delete(id);
  }

  #pays(id: string, now: number): boolean {
    const known = this.#accounts.get(id);
    const account = known ?? { bucket: new TokenBucket(ONE.burst, ONE.everyMs), last: Number.NEGATIVE_INFINITY };
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

class TokenBucket {
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

/** Limits the rate of incidents, so that a storm of restarts fills neither disk nor time. */
import { TokenBucket } from "../base/token-bucket.ts";

/** For one process and for all together. */
const PER_PROCESS = { burst: 10, perSecond: 1 } as const;
const TOTAL = { burst: 50, perSecond: 10 } as const;
/** A process without incidents for this long is exempt from the limit for all. Milliseconds. */
const QUIET_MS = 60_000;

type HeldIncidents<Of> = { readonly item: Of; readonly count: number };

type ProcessBudget = { bucket: TokenBucket; last: number };

export type AdmittedIncident<Of> = { readonly item: Of; readonly leftOut: number };

export class IncidentLimit<Of> {
  readonly #total = new TokenBucket(TOTAL, 0);
  readonly #budgets = new Map<string, ProcessBudget>();
  /** The latest incident of each process that was held back, and how many there were since the last admitted one. */
  readonly #deferred = new Map<string, HeldIncidents<Of>>();

  /** undefined: held back because of the rate. `release` returns the last of them later. */
  admit(id: string, item: Of, now: number): AdmittedIncident<Of> | undefined {
    const deferred = this.#deferred.get(id);
    if (this.#takeToken(id, now)) {
      this.#deferred.delete(id);
      return { item, leftOut: deferred?.count ?? 0 };
    }
    this.#deferred.set(id, { item, count: (deferred?.count ?? 0) + 1 });
    return undefined;
  }

  /** Incidents that were held back and may be written now. */
  release(now: number): readonly AdmittedIncident<Of>[] {
    const passed: AdmittedIncident<Of>[] = [];
    for (const [id, { item, count }] of this.#deferred)
      if (this.#takeToken(id, now)) {
        this.#deferred.delete(id);
        passed.push({ item, leftOut: count - 1 });
      }
    return passed;
  }

  /** All incidents that are held back; called at the end. */
  drain(): readonly AdmittedIncident<Of>[] {
    const left = [...this.#deferred.values()].map(({ item, count }) => ({ item, leftOut: count - 1 }));
    this.#deferred.clear();
    return left;
  }

  get hasDeferred(): boolean {
    return this.#deferred.size > 0;
  }

  remove(id: string): void {
    this.#budgets.delete(id);
  }

  #takeToken(id: string, now: number): boolean {
    const existing = this.#budgets.get(id);
    const account = existing ?? { bucket: new TokenBucket(PER_PROCESS, 0), last: Number.NEGATIVE_INFINITY };
    if (existing === undefined) this.#budgets.set(id, account);
    if (account.bucket.waitMs(1, now) > 0) return false;
    const isQuiet = now - account.last > QUIET_MS;
    const isFull = this.#total.waitMs(1, now) > 0;
    if (isFull && !isQuiet) return false;
    if (!isFull) this.#total.take(1);
    account.bucket.take(1);
    account.last = now;
    return true;
  }
}

/** Limits a rate: a token bucket, which refills steadily. */

export type BucketRate = {
  /** Most at once. */
  readonly burst: number;
  /** Most in the long run. */
  readonly perSecond: number;
};

export class TokenBucket {
  readonly #rate: BucketRate;
  #level: number;
  #last: number;

  /** `now`: monotonic milliseconds, as everywhere below. */
  constructor(rate: BucketRate, now: number) {
    this.#rate = rate;
    this.#level = rate.burst;
    this.#last = now;
  }

  /** Milliseconds until this amount (at most `burst`) can be taken; 0: now. */
  waitMs(amount: number, now: number): number {
    this.#refill(now);
    return amount <= this.#level ? 0 : ((amount - this.#level) / this.#rate.perSecond) * 1_000;
  }

  /** Takes it, after `waitMs` has returned 0; a negative amount is given back. */
  take(amount: number): void {
    this.#level = Math.min(this.#rate.burst, this.#level - amount);
  }

  #refill(now: number): void {
    const { burst, perSecond } = this.#rate;
    this.#level = Math.min(burst, this.#level + ((now - this.#last) * perSecond) / 1_000);
    this.#last = now;
  }
}

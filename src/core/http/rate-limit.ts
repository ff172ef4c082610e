/** Limits the rate of requests of each consumer, where a route has a limit. */
import { TokenBucket } from "../base/token-bucket.ts";
import type { Route } from "../contract/route.ts";
import type { Claims } from "../contract/token-claims.ts";
import { HttpError } from "./responses.ts";

/** Consumers whose buckets are kept. Only valid tokens get here, so there are hardly more. */
const CONSUMERS_LIMIT = 10_000;

type ConsumerBuckets = { readonly requests: TokenBucket; readonly bytes: TokenBucket };

export class RateLimiter {
  readonly #now: () => number;
  readonly #buckets = new Map<string, ConsumerBuckets>();

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Before the body is read. `declared`: its length; NaN: unknown, so it counts as the longest until its real length is
   * known. Returns the function that takes the real length. @throws {HttpError} `too-many-requests`
   */
  admit({ path, rate, body }: Route, { consumer, process = "" }: Claims, declared: number): (bytes: number) => void {
    if (rate === undefined) return () => undefined;
    const now = this.#now();
    const buckets = this.#of(JSON.stringify([path, consumer, process]), rate, now);
    const longest = Math.min(body?.maxBytes ?? rate.bytes.burst, rate.bytes.burst);
    const cost = declared >= 0 && declared < longest ? declared : longest;
    const waitMs = Math.max(buckets.requests.waitMs(1, now), buckets.bytes.waitMs(cost, now));
    if (waitMs > 0) {
      const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
      const limit = `${rate.requests.perSecond} requests and ${rate.bytes.perSecond} bytes a second`;
      const text = `Cannot take this request: "${consumer}" sends more to ${path} than ${limit}; wait ${seconds} s`;
      throw new HttpError("too-many-requests", text, { "retry-after": String(seconds) });
    }
    buckets.requests.take(1);
    buckets.bytes.take(cost);
    return (bytes) => buckets.bytes.take(bytes - cost);
  }

  #of(key: string, { requests, bytes }: NonNullable<Route["rate"]>, now: number): ConsumerBuckets {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    if (this.#buckets.size >= CONSUMERS_LIMIT) this.#buckets.clear();
    const made = { requests: new TokenBucket(requests, now), bytes: new TokenBucket(bytes, now) };
    this.#buckets.set(key, made);
    return made;
  }
}

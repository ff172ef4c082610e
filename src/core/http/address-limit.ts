/** Limits the requests of each address that are answered without a token. */
import type { IncomingMessage } from "node:http";
import { TokenBucket } from "../base/token-bucket.ts";
import { HttpError } from "./responses.ts";

const RATE = { burst: 200, perSecond: 100 } as const;
const ADDRESSES_LIMIT = 1_000;

export class AddressLimit {
  readonly #now: () => number;
  readonly #buckets = new Map<string, TokenBucket>();

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The Unix socket has no address, and no limit. @throws {HttpError} `too-many-requests` */
  admit({ socket: { remoteAddress } }: IncomingMessage): void {
    if (remoteAddress === undefined) return;
    const now = this.#now();
    const bucket = this.#of(remoteAddress, now);
    if (bucket.waitMs(1, now) === 0) return bucket.take(1);
    const why = `more than ${RATE.perSecond} requests a second without a token came from this address; wait 1 s`;
    throw new HttpError("too-many-requests", `Cannot answer: ${why}`, { "retry-after": "1", connection: "close" });
  }

  #of(address: string, now: number): TokenBucket {
    const known = this.#buckets.get(address);
    if (known !== undefined) return known;
    if (this.#buckets.size >= ADDRESSES_LIMIT) this.#buckets.clear();
    const made = new TokenBucket(RATE, now);
    this.#buckets.set(address, made);
    return made;
  }
}

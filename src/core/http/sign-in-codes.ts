/** One-time codes, each of which is exchanged for a token at most once. */

/** Validity of a code. Seconds. */
export const CODE_SECONDS = 30;
/** Codes that may wait; a new one replaces the oldest. */
const CODES_LIMIT = 100;

type WaitingCode<Value> = { readonly value: Value; readonly until: number };

export class SignInCodes<Value> {
  readonly #now: () => number;
  readonly #codes = new Map<string, WaitingCode<Value>>();

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** 256 random bits. */
  make(value: Value): string {
    this.#dropOld();
    const [oldest] = this.#codes.keys();
    if (this.#codes.size >= CODES_LIMIT && oldest !== undefined) this.#codes.delete(oldest);
    const code = process.getBuiltinModule("node:crypto").randomBytes(32).toString("base64url");
    this.#codes.set(code, { value, until: this.#now() + CODE_SECONDS * 1_000 });
    return code;
  }

  /** undefined: the code is unknown, was used, or is too old. */
  take(code: string): Value | undefined {
    this.#dropOld();
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    return found?.value;
  }

  #dropOld(): void {
    for (const [code, { until }] of this.#codes) if (until <= this.#now()) this.#codes.delete(code);
  }
}

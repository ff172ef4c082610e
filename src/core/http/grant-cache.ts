/** Tokens that were verified, so that a client's next request costs no signature. */
import type { Claims } from "../contract/token-claims.ts";

/** A valid token, and the secret it was signed with. Without one, the socket of a group stands for the token. */
export type TokenGrant = { readonly claims: Claims; readonly secret?: Uint8Array };

/** Thousands of processes that report telemetry have a token each; about 1 KB. */
const MOST = 1_000;
/** How many of the oldest are looked at with each new one. */
const LOOKED_AT = 2;

export class GrantCache {
  readonly #grants = new Map<string, TokenGrant>();
  readonly #isValid: (grant: TokenGrant) => boolean;

  constructor(isValid: (grant: TokenGrant) => boolean) {
    this.#isValid = isValid;
  }

  get size(): number {
    return this.#grants.size;
  }

  /** undefined: it isn't known, or not valid any more. */
  get(token: string): TokenGrant | undefined {
    const grant = this.#grants.get(token);
    return grant !== undefined && this.#isValid(grant) ? grant : undefined;
  }

  /** Adds a grant and checks the two oldest: expired ones are removed, valid ones move to the end. So grants of a minute don't stay. */
  add(token: string, grant: TokenGrant): void {
    let looked = 0;
    for (const [oldest, known] of this.#grants) {
      if (looked === LOOKED_AT) break;
      looked += 1;
      this.#grants.delete(oldest);
      if (this.#grants.size < MOST - 1 && this.#isValid(known)) this.#grants.set(oldest, known);
    }
    this.#grants.set(token, grant);
  }
}

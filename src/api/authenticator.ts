/** Who asks: checks bearer tokens, remembers the good ones, and is short with whoever tries many bad ones. */
import type { IncomingMessage } from "node:http";
import type { Claims, Scope } from "../contract/claims.ts";
import { LEEWAY_SECONDS, verifyToken } from "../contract/token.ts";
import { Refusal } from "./refusal.ts";

/** What tokens are held against; may change at any time. */
export type Access = {
  /** Another array once it has been replaced. */
  readonly secret: () => Uint8Array;
  readonly isRevoked: (consumer: string) => boolean;
};

/** A token that was found good, and by which secret. */
export type Grant = { readonly claims: Claims; readonly secret: Uint8Array };

/** As many good tokens as are remembered. */
const GRANTS_LIMIT = 1_000;
/** From one address; more are answered with 429. A good token is always let in: all local programs have one address. */
const FAILURES_LIMIT = 20;
const FAILURES_MS = 10_000;
const ADDRESSES_LIMIT = 1_000;

export class Authenticator {
  readonly #access: Access;
  readonly #audience: string;
  readonly #grants = new Map<string, Grant>();
  readonly #failures = new Map<string, { count: number; readonly until: number }>();

  constructor(access: Access, audience: string) {
    this.#access = access;
    this.#audience = audience;
  }

  /** @throws {Refusal} `unauthorized`, `too-many-requests` */
  async grant(request: IncomingMessage): Promise<Grant> {
    const { authorization } = request.headers;
    const token = /^Bearer +([\w.-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined)
      throw this.#failed(
        request,
        `no bearer token came with it; send "Authorization: Bearer TOKEN" with one of "procman token --consumer NAME"`,
      );
    const known = this.#grants.get(token);
    if (known !== undefined && this.refusal(known) === undefined) return known;
    const grant = await this.#verify(token, request);
    const refusal = this.refusal(grant);
    if (refusal !== undefined) throw this.#failed(request, refusal);
    if (this.#grants.size >= GRANTS_LIMIT) this.#grants.clear();
    this.#grants.set(token, grant);
    return grant;
  }

  /** Why a token counts no longer. */
  refusal({ claims: { consumer, expires = Infinity }, secret }: Grant): string | undefined {
    if (secret !== this.#access.secret()) return "its token is of a secret that was replaced; make another";
    if (this.#access.isRevoked(consumer)) return `the tokens of the consumer "${consumer}" are revoked`;
    return Date.now() / 1_000 > expires + LEEWAY_SECONDS ? "its token has expired; make another" : undefined;
  }

  async #verify(token: string, request: IncomingMessage): Promise<Grant> {
    const secret = this.#access.secret();
    try {
      return { claims: await verifyToken(token, this.#audience, secret), secret };
    } catch (error) {
      const isExpired = (error as { readonly code?: string }).code === "ERR_JWT_EXPIRED";
      throw this.#failed(
        request,
        isExpired ? "its token has expired; make another" : "its token is none that this procman has made, or is damaged",
      );
    }
  }

  #failed({ socket, headers }: IncomingMessage, why: string): Refusal {
    const wait = this.#count(socket.remoteAddress ?? "");
    if (wait > 0)
      return new Refusal(
        "too-many-requests",
        `Cannot answer: too many requests without a good token came from this address; wait ${wait} s`,
        {
          "retry-after": String(wait),
          connection: "close",
        },
      );
    const error = headers.authorization === undefined ? "" : ', error="invalid_token"';
    return new Refusal("unauthorized", `Cannot answer: ${why}`, { "www-authenticate": `Bearer realm="procman"${error}` });
  }

  /** Seconds until this address is heard again; 0: it is now. */
  #count(address: string): number {
    const now = performance.now();
    const before = this.#failures.get(address);
    const failures = before === undefined || before.until < now ? { count: 0, until: now + FAILURES_MS } : before;
    failures.count++;
    if (failures !== before) {
      if (this.#failures.size >= ADDRESSES_LIMIT) this.#failures.clear();
      this.#failures.set(address, failures);
    }
    return failures.count > FAILURES_LIMIT ? Math.ceil((failures.until - now) / 1_000) : 0;
  }
}

/** @throws {Refusal} `scope-missing` */
export function checkScope({ scopes, consumer }: Claims, scope: Scope): void {
  if (scopes.includes(scope) || scopes.includes("admin")) return;
  const has = scopes.length === 0 ? "none" : scopes.map((each) => `"${each}"`).join(", ");
  throw new Refusal("scope-missing", `Cannot answer "${consumer}": the token lacks the scope "${scope}"; it has ${has}`, {
    "www-authenticate": `Bearer realm="procman", error="insufficient_scope", scope="${scope}"`,
  });
}

/** Authentication: verifies bearer tokens, caches valid ones, and limits failures of each address. By the socket of a group no token is needed. */
import type { IncomingMessage } from "node:http";
import { LEEWAY_SECONDS, verifyToken } from "../contract/token.ts";
import { type Claims, GROUP_SCOPES, isAllowed, isOfGroup, type TokenScope } from "../contract/token-claims.ts";
import { GrantCache, type TokenGrant } from "./grant-cache.ts";
import { HttpError } from "./responses.ts";

/** What tokens are verified against; may change at any time. */
export type TokenAccess = {
  /** Returns another array after the secret was replaced. */
  readonly secret: () => Uint8Array;
  readonly isRevoked: (consumer: string) => boolean;
};

/** Failures of an address before it gets 429. A valid token is always accepted, since all local programs share an address. */
const FAILURES_LIMIT = 20;
const FAILURES_MS = 10_000;
const ADDRESSES_LIMIT = 1_000;

export class Authenticator {
  readonly #access: TokenAccess;
  readonly #audience: string;
  readonly #onRefused: (consumer: string, why: string) => void;
  readonly #grants = new GrantCache((grant) => this.refusal(grant) === undefined);
  readonly #failures = new Map<string, { count: number; readonly until: number }>();

  /** `onRefused`: a token that was valid once is refused. */
  constructor(
    access: TokenAccess,
    audience: string,
    onRefused: (consumer: string, why: string) => void = () => undefined,
  ) {
    this.#onRefused = onRefused;
    this.#access = access;
    this.#audience = audience;
  }

  /** `member`: the request came by the socket of a group; a token in it counts for nothing. @throws {HttpError} `unauthorized`, `too-many-requests` */
  async grant(request: IncomingMessage, member: Claims | undefined): Promise<TokenGrant> {
    if (member !== undefined) return this.#valid({ claims: member }, request);
    const { authorization } = request.headers;
    const token = /^Bearer +([\w.-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined)
      throw this.#failed(
        request,
        `the request has no bearer token; send "Authorization: Bearer TOKEN" with a token of "procman token --consumer NAME"`,
      );
    const known = this.#grants.get(token);
    if (known !== undefined) return known;
    const grant = this.#valid(await this.#verify(token, request), request);
    this.#grants.add(token, grant);
    return grant;
  }

  #valid(grant: TokenGrant, request: IncomingMessage): TokenGrant {
    const refusal = this.refusal(grant);
    if (refusal === undefined) return grant;
    this.#onRefused(grant.claims.consumer, refusal);
    throw this.#failed(request, refusal);
  }

  /** Why a token is no longer valid; undefined if it is. */
  refusal({ claims: { consumer, by, expires = Infinity }, secret }: TokenGrant): string | undefined {
    if (secret !== undefined && secret !== this.#access.secret())
      return "its token was signed with a secret that was replaced; create another";
    const revoked = [consumer, by].find((each) => each !== undefined && this.#access.isRevoked(each));
    if (revoked !== undefined) return `the tokens of the consumer "${revoked}" are revoked`;
    return Date.now() / 1_000 > expires + LEEWAY_SECONDS ? "its token has expired; create another" : undefined;
  }

  async #verify(token: string, request: IncomingMessage): Promise<TokenGrant> {
    const secret = this.#access.secret();
    try {
      return { claims: await verifyToken(token, this.#audience, secret), secret };
    } catch (error) {
      const { code, payload } = error as { readonly code?: string; readonly payload?: { readonly sub?: unknown } };
      const isExpired = code === "ERR_JWT_EXPIRED";
      // Its signature has been verified.
      if (isExpired && typeof payload?.sub === "string") this.#onRefused(payload.sub, "its token has expired");
      throw this.#failed(
        request,
        isExpired
          ? "its token has expired; create another"
          : "its token was not created by this procman, or is damaged",
      );
    }
  }

  #failed({ socket, headers }: IncomingMessage, why: string): HttpError {
    const wait = this.#count(socket.remoteAddress ?? "");
    if (wait > 0)
      return new HttpError(
        "too-many-requests",
        `Cannot answer: too many requests without a valid token came from this address; wait ${wait} s`,
        {
          "retry-after": String(wait),
          connection: "close",
        },
      );
    const error = headers.authorization === undefined ? "" : ', error="invalid_token"';
    return new HttpError("unauthorized", `Cannot answer: ${why}`, {
      "www-authenticate": `Bearer realm="procman"${error}`,
    });
  }

  /** Seconds for which this address is refused; 0: it isn't. */
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

/** @throws {HttpError} `scope-missing` */
export function checkScope(claims: Claims, scope: TokenScope, orScope: TokenScope = scope): void {
  const { scopes, consumer } = claims;
  if (isAllowed(scope, scopes) || isAllowed(orScope, scopes)) return;
  const has = scopes.length === 0 ? "none" : scopes.map((each) => `"${each}"`).join(", ");
  const create = `; "procman token --consumer NAME --scope ${scope}" creates one that has it`;
  const [who, remedy] = isOfGroup(claims) ? (["group", remedyOf(scope)] as const) : (["token", create] as const);
  const why = `the ${who} lacks the scope "${scope}"; it has ${has}${remedy}`;
  throw new HttpError("scope-missing", `Cannot answer "${consumer}": ${why}`, {
    "www-authenticate": `Bearer realm="procman", error="insufficient_scope", scope="${scope}"`,
  });
}

function remedyOf(scope: TokenScope): string {
  return GROUP_SCOPES.some((each) => each === scope)
    ? '; "api.group" in the configuration sets what its members may do'
    : "; only the user of procman may do that";
}

/** What the dashboard needs besides `Control`: its files, and tokens for its pages. */
import type { TokenScope } from "./token-claims.ts";

/** A file of the dashboard, compressed at build time (RFC 7932). */
export type DashboardFile = {
  readonly brotli: Uint8Array;
  /** Its content, for clients that don't take Brotli. */
  readonly plain: () => Promise<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
};

/** Body of `POST /dashboard/code`. `scopes` absent: all. */
export type SignInOrder = { readonly scopes?: readonly TokenScope[] };

/** A code that can be exchanged for a token, once. */
export type SignInCode = { readonly code: string; readonly expiresInSeconds: number };

/** Body of `POST /dashboard/token`. */
export type SignInExchange = { readonly code: string };

export type SignInToken = { readonly token: string };

export interface DashboardAccess {
  /** The page at `/`. Rejects with `path-unknown` if this build has no dashboard. */
  page(): Promise<DashboardFile>;
  /** Rejects with `path-unknown`. */
  asset(name: string): Promise<DashboardFile>;
  makeCode(order: SignInOrder): SignInCode;
  /** @throws {ProcmanError} `unauthorized` if the code is unknown, used or too old */
  exchange(exchange: SignInExchange): SignInToken;
}

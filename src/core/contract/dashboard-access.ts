/** What the dashboard needs besides `Control`: its files, and tokens for its pages. */
import type { SignInCode, SignInExchange, SignInOrder, SignInToken } from "../../../generated/records.ts";

export type { SignInCode, SignInExchange, SignInOrder, SignInToken } from "../../../generated/records.ts";

/** A file of the dashboard, compressed at build time (RFC 7932). */
export type DashboardFile = {
  readonly brotli: Uint8Array;
  /** Its content, for clients that don't take Brotli. */
  readonly plain: () => Promise<Uint8Array>;
  readonly headers: Readonly<Record<string, string>>;
};

export interface DashboardAccess {
  /** The page at `/`. Rejects with `path-unknown` if this build has no dashboard. */
  page(): Promise<DashboardFile>;
  /** Rejects with `path-unknown`. */
  asset(name: string): Promise<DashboardFile>;
  makeCode(order: SignInOrder): SignInCode;
  /** @throws {ProcmanError} `unauthorized` if the code is unknown, used or too old */
  exchange(exchange: SignInExchange): SignInToken;
}

/** Serves the dashboard: its files, and tokens in exchange for one-time codes. */
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import type { Caller } from "../contract/control.ts";
import type { DashboardAccess, SignInOrder } from "../contract/dashboard-access.ts";
import {
  type Claims,
  DASHBOARD_SECONDS,
  DEFAULT_SCOPES,
  expiresIn,
  isAllowed,
  SCOPES,
  type TokenScope,
} from "../contract/token-claims.ts";
import { type DashboardFiles, dashboardFiles } from "./dashboard-files.ts";
import { CODE_SECONDS, SignInCodes } from "./sign-in-codes.ts";

/** Consumer of the tokens that codes are exchanged for. */
const CONSUMER = "dashboard";

export type DashboardPorts = {
  /** Name of procman, which is the audience of tokens. */
  readonly audience: string;
  readonly sign: (claims: Claims) => string;
  /** Logs what was done. */
  readonly noted: (text: string) => void;
  /** Logs a code that was refused. */
  readonly refused: (text: string) => void;
  /** Default: that of the build. */
  readonly folder?: string;
};

/** Who asks for a code: with which token, and why that is no longer valid. undefined: it is. */
export type CodeAsker = {
  readonly caller: Caller;
  readonly claims: Claims;
  readonly refusal: () => string | undefined;
};

type CodeOrder = CodeAsker & { readonly scopes: readonly TokenScope[] };

export class Dashboard {
  readonly #ports: DashboardPorts;
  readonly #codes: SignInCodes<CodeOrder>;
  #files: Promise<DashboardFiles> | undefined;

  constructor(ports: DashboardPorts, codes: SignInCodes<CodeOrder> = new SignInCodes()) {
    this.#ports = ports;
    this.#codes = codes;
  }

  /** What the dashboard does. Only a token can ask for codes. */
  access(asker?: CodeAsker): DashboardAccess {
    return {
      page: async () => (await this.#loaded()).page,
      asset: async (name) => (await this.#loaded()).asset(name),
      makeCode: (order) => ({
        code: this.#codes.make({ scopes: scopesFor(order, asker as CodeAsker), ...(asker as CodeAsker) }),
        expiresInSeconds: CODE_SECONDS,
      }),
      exchange: ({ code }) => ({ token: this.#exchange(code) }),
    };
  }

  /** Read at the first request; tried again after a failure. */
  #loaded(): Promise<DashboardFiles> {
    this.#files ??= dashboardFiles(this.#ports.folder ?? join(import.meta.dirname, "dashboard")).catch(
      (error: unknown) => {
        this.#files = undefined;
        throw error;
      },
    );
    return this.#files;
  }

  #exchange(code: string): string {
    const { audience, sign, noted, refused } = this.#ports;
    const order = this.#codes.take(code);
    const why = order === undefined ? `its code was used before, or is older than ${CODE_SECONDS} s` : order.refusal();
    if (order === undefined || why !== undefined) {
      refused(`a sign-in to the dashboard was refused: ${why}`);
      throw new ProcmanError("unauthorized", `Cannot sign in: ${why}; run "procman dashboard" again`);
    }
    const { scopes, caller, claims } = order;
    const { consumer, user } = caller;
    noted(
      `dashboard opened for "${consumer}"${user === undefined ? "" : ` (${user})`}, with the scopes ${scopes.join(", ")}`,
    );
    // It ends with the token that has asked for it: by its expiry, or by a revocation of its consumer.
    const expires = Math.min(claims.expires ?? Infinity, expiresIn(DASHBOARD_SECONDS));
    return sign({
      audience,
      consumer: CONSUMER,
      by: claims.by ?? claims.consumer,
      scopes,
      expires,
      ...(user && { user }),
    });
  }
}

/** A token passes on no scope that it doesn't have. @throws {ProcmanError} `scope-missing` */
function scopesFor({ scopes }: SignInOrder, { claims }: CodeAsker): readonly TokenScope[] {
  const mayType = isAllowed("input", claims.scopes);
  if (!mayType && scopes?.includes("input") === true)
    throw new ProcmanError(
      "scope-missing",
      'Cannot make a code with the scope "input": the token that asks for it doesn\'t have it',
    );
  return scopes ?? (mayType ? SCOPES : DEFAULT_SCOPES);
}

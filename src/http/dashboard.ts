/** Serves the dashboard: its files, and tokens in exchange for one-time codes. */
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import type { Caller } from "../contract/control.ts";
import type { DashboardAccess, SignInOrder } from "../contract/dashboard-access.ts";
import { type Claims, expiresIn, SCOPES } from "../contract/token-claims.ts";
import { type DashboardFiles, dashboardFiles } from "./dashboard-files.ts";
import { CODE_SECONDS, SignInCodes } from "./sign-in-codes.ts";

/** Consumer of the tokens that codes are exchanged for. */
const CONSUMER = "dashboard";
/** Validity of such a token. Seconds. */
const TOKEN_SECONDS = 43_200;

export type DashboardPorts = {
  /** Of procman, which is the audience of tokens. */
  readonly audience: string;
  readonly sign: (claims: Claims) => string;
  /** Logs what was done. */
  readonly noted: (text: string) => void;
  /** Logs a code that was refused. */
  readonly refused: (text: string) => void;
  /** Default: that of the build. */
  readonly folder?: string;
};

type CodeOrder = SignInOrder & { readonly caller: Caller };

export class Dashboard {
  readonly #ports: DashboardPorts;
  readonly #codes: SignInCodes<CodeOrder>;
  #files: Promise<DashboardFiles> | undefined;

  constructor(ports: DashboardPorts, codes: SignInCodes<CodeOrder> = new SignInCodes()) {
    this.#ports = ports;
    this.#codes = codes;
  }

  /** What the dashboard does for this caller. */
  access(caller: Caller): DashboardAccess {
    return {
      page: async () => (await this.#loaded()).page,
      asset: async (name) => (await this.#loaded()).asset(name),
      makeCode: (order) => ({ code: this.#codes.make({ ...order, caller }), expiresInSeconds: CODE_SECONDS }),
      exchange: ({ code }) => ({ token: this.#exchange(code) }),
    };
  }

  /** Read at the first request; tried again after a failure. */
  #loaded(): Promise<DashboardFiles> {
    this.#files ??= dashboardFiles(this.#ports.folder ?? join(import.meta.dirname, "dashboard")).catch((error: unknown) => {
      this.#files = undefined;
      throw error;
    });
    return this.#files;
  }

  #exchange(code: string): string {
    const { audience, sign, noted, refused } = this.#ports;
    const order = this.#codes.take(code);
    if (order === undefined) {
      refused("a sign-in to the dashboard was refused: its code was used before, or is too old");
      throw new ProcmanError(
        "unauthorized",
        `Cannot sign in: the code of this link was used before, or is older than ${CODE_SECONDS} s; run "procman dashboard" again`,
      );
    }
    const { scopes = SCOPES, caller } = order;
    const { consumer, user } = caller;
    noted(`dashboard opened for "${consumer}"${user === undefined ? "" : ` (${user})`}, with the scopes ${scopes.join(", ")}`);
    return sign({ audience, consumer: CONSUMER, scopes, expires: expiresIn(TOKEN_SECONDS), ...(user === undefined ? {} : { user }) });
  }
}

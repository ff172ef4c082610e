/** What a token says. */

export const ISSUER = "procman";

export const SCOPES = ["read", "control", "log", "telemetry", "admin"] as const;

/** `control`: actions; `admin`: terminate, and everything else. */
export type Scope = (typeof SCOPES)[number];

/** As names of processes, and upper case. */
export const CONSUMER = /^[A-Za-z0-9._-]{1,64}$/;

export type Claims = {
  /** Name of the procman instance. */
  readonly audience: string;
  readonly consumer: string;
  readonly scopes: readonly Scope[];
  /** Seconds since 1970. */
  readonly expires?: number;
  /** It speaks for this process alone. */
  readonly process?: string;
};

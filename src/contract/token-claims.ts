/** What a token says. */

export const ISSUER = "procman";

export const SCOPES = ["read", "control", "log", "telemetry", "admin"] as const;

/** `control`: actions; `admin`: terminate, and everything else. */
export type TokenScope = (typeof SCOPES)[number];

/** As names of processes, and upper case. */
export const CONSUMER = /^[A-Za-z0-9._-]{1,64}$/;

export type Claims = {
  /** Name of the procman instance. */
  readonly audience: string;
  readonly consumer: string;
  readonly scopes: readonly TokenScope[];
  /** Seconds since 1970. */
  readonly expires?: number;
  /** It speaks for this process alone. */
  readonly process?: string;
};

/** What is signed (RFC 7519, 4.1). */
export function payloadOf({ audience, consumer, scopes, process, expires }: Claims): object {
  return {
    iss: ISSUER,
    aud: audience,
    sub: consumer,
    iat: Math.floor(Date.now() / 1_000),
    ...(expires === undefined ? {} : { exp: expires }),
    scope: scopes.join(" "),
    ...(process === undefined ? {} : { process }),
  };
}

/** When a token ends that is good for so long. Seconds since 1970. */
export function expiresIn(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds;
}

/** What a process may do, for itself. Nobody else's consumer has a colon. */
export function claimsOfProcess(process: string, audience: string): Claims {
  return { audience, consumer: `process:${process}`, scopes: ["telemetry", "log"], process };
}

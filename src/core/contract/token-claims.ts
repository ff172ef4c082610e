/** The claims of a token. */

import { compact } from "../base/compact.ts";
export const ISSUER = "procman";

export const SCOPES = ["read", "control", "input", "log", "telemetry", "reload", "admin"] as const;

/** `control`: actions; `input`: typing into processes; `reload`: plan and reload; `admin`: terminate, and everything else but `input`. */
export type TokenScope = (typeof SCOPES)[number];

/** Of a token for which none are named. Who types into a shell runs commands, so `input` has to be named. */
export const DEFAULT_SCOPES: readonly TokenScope[] = SCOPES.filter((scope) => scope !== "input");

/** Of procman's own user. */
export const OWNER_SCOPES = ["admin", "input"] as const satisfies readonly TokenScope[];

/** Whether these scopes allow what needs this one. */
export function isAllowed(scope: TokenScope, granted: readonly TokenScope[]): boolean {
  return granted.includes(scope) || (scope !== "input" && granted.includes("admin"));
}

/** Scopes that the members of a Unix group may have: they neither end procman nor change what it runs. */
export const GROUP_SCOPES = ["read", "control"] as const satisfies readonly TokenScope[];

export type GroupScope = (typeof GROUP_SCOPES)[number];

/** Whether the scope is for all of procman: a limited token can't have it. */
export function isForAll(scope: TokenScope): boolean {
  return scope === "reload" || scope === "admin";
}

/** Characters of process names, and upper case. */
export const CONSUMER = /^[A-Za-z0-9._-]{1,64}$/;

/** The processes (also instances and clusters) and groups to which a token is limited. */
export type TokenLimits = { readonly processes: readonly string[]; readonly groups: readonly string[] };

export type Claims = {
  /** Name of the procman instance. */
  readonly audience: string;
  readonly consumer: string;
  readonly scopes: readonly TokenScope[];
  /** Seconds since 1970. */
  readonly expires?: number;
  /** The token is valid for this process only. */
  readonly process?: string;
  /** The token sees and acts on these only; without the scope `admin`. */
  readonly limits?: TokenLimits;
  /** Consumer of the token that has asked for this one, and whose revocation ends this one, too. */
  readonly by?: string;
  /** The Unix user behind a command, by its own account. A program that can sign tokens may do everything. */
  readonly user?: string;
};

/** The payload to sign (RFC 7519, 4.1). */
export function payloadOf({ audience, consumer, scopes, process, expires, limits, by, user }: Claims): object {
  const scope = scopes.join(" ");
  return compact({
    iss: ISSUER,
    aud: audience,
    sub: consumer,
    iat: Math.floor(Date.now() / 1_000),
    exp: expires,
    // A version that doesn't know limits must find no scope.
    ...(limits === undefined ? { scope } : { limited: { scope, ...limits } }),
    process,
    by,
    user,
  });
}

/** Longest validity of a token of the dashboard. Seconds. */
export const DASHBOARD_SECONDS = 43_200;

/** Expiry of a token that is valid for so long. Seconds since 1970. */
export function expiresIn(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds;
}

/** How the consumers of processes begin. No other consumer has a colon in its name. */
export const OF_PROCESS = "process:";

/** The same of the members of a Unix group, who have no token. */
const OF_GROUP = "group:";

export function claimsOfGroup(group: string, scopes: readonly TokenScope[], audience: string): Claims {
  return { audience, consumer: `${OF_GROUP}${group}`, scopes };
}

/** Header of the answers to members: what they may do. (The name of GitHub's API.) */
export const SCOPES_HEADER = "x-oauth-scopes";

export function isOfGroup({ consumer }: Claims): boolean {
  return consumer.startsWith(OF_GROUP);
}

/** The claims of a process's own token. */
export function claimsOfProcess(process: string, audience: string): Claims {
  return { audience, consumer: `${OF_PROCESS}${process}`, scopes: ["telemetry", "log"], process };
}

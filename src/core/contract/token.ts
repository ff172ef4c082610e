/** Checks the tokens of the API: JWT, HS256 and nothing else (RFC 7519, RFC 8725). */

import { jwtVerify } from "jose";
import { compact } from "../base/compact.ts";
import { isObject } from "../base/schema-check.ts";
import { type Claims, ISSUER, isForAll, SCOPES, type TokenLimits, type TokenScope } from "./token-claims.ts";

/** Allowed difference between clocks. Seconds. */
export const LEEWAY_SECONDS = 5;

/** User names that are safe to show in log lines. */
const USER = /^[\w.@$-]{1,64}$/;

/** Rejects when the token is not one of this instance's, is not valid yet, or has expired. */
export async function verifyToken(token: string, audience: string, secret: Uint8Array): Promise<Claims> {
  const { payload } = await jwtVerify(token, secret, {
    algorithms: ["HS256"],
    issuer: ISSUER,
    audience,
    clockTolerance: LEEWAY_SECONDS,
    requiredClaims: ["sub", "iat"],
  });
  // A date in the future comes from a wrong clock, or is forged.
  if (Number(payload.iat) > Date.now() / 1_000 + LEEWAY_SECONDS) throw new Error("it was issued in the future");
  if (typeof payload.sub !== "string" || payload.sub === "") throw new Error("it names no consumer");
  if (payload.by !== undefined && typeof payload.by !== "string") throw new Error("it doesn't say who asked for it");
  return compact({
    audience,
    consumer: payload.sub,
    by: payload.by,
    ...powersOf(payload.scope, payload.limited),
    expires: payload.exp,
    ...(typeof payload.process === "string" ? { process: payload.process } : {}),
    ...(typeof payload.user === "string" && USER.test(payload.user) ? { user: payload.user } : {}),
  });
}

/** The scopes, and the processes to which they are limited. A limited token has no scope that is for all of procman. */
function powersOf(scope: unknown, limited: unknown): Pick<Claims, "scopes" | "limits"> {
  if (limited === undefined) return { scopes: scopesIn(scope) };
  if (!isObject(limited)) throw new Error("its limits can't be read");
  return { scopes: scopesIn(limited.scope).filter((each) => !isForAll(each)), limits: limitsIn(limited) };
}

function scopesIn(text: unknown): readonly TokenScope[] {
  const granted = typeof text === "string" ? text.split(" ") : [];
  return SCOPES.filter((scope) => granted.includes(scope));
}

function limitsIn({ processes, groups }: Readonly<Record<string, unknown>>): TokenLimits {
  const names = (list: unknown): readonly string[] => {
    if (Array.isArray(list) && list.every((name) => typeof name === "string")) return list;
    throw new Error("its limits can't be read");
  };
  return { processes: names(processes), groups: names(groups) };
}

/** Checks the tokens of the API: JWT, HS256 and nothing else (RFC 7519, RFC 8725). */
import { jwtVerify } from "jose";
import { type Claims, ISSUER, SCOPES } from "./token-claims.ts";

/** Allowed difference between clocks. Seconds. */
export const LEEWAY_SECONDS = 5;

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
  const granted = typeof payload.scope === "string" ? payload.scope.split(" ") : [];
  return {
    audience,
    consumer: payload.sub,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    ...(payload.exp === undefined ? {} : { expires: payload.exp }),
    ...(typeof payload.process === "string" ? { process: payload.process } : {}),
  };
}

/** The tokens of the API: JWT, HS256 and nothing else (RFC 7519, RFC 8725). */
import { jwtVerify, SignJWT } from "jose";

export const SCOPES = ["read", "control", "log", "telemetry", "admin"] as const;

export type Scope = (typeof SCOPES)[number];

export type Claims = {
  /** Name of the procman instance. */
  readonly audience: string;
  readonly consumer: string;
  readonly scopes: readonly Scope[];
};

/** How far clocks may differ. Seconds. */
const LEEWAY_SECONDS = 5;

export async function signToken({ audience, consumer, scopes }: Claims, secret: Uint8Array, expireIn?: number): Promise<string> {
  const token = new SignJWT({ scope: scopes.join(" ") })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer("procman")
    .setAudience(audience)
    .setSubject(consumer)
    .setIssuedAt();
  return (expireIn === undefined ? token : token.setExpirationTime(`${expireIn}s`)).sign(secret);
}

/** Rejects when the token is not one of this instance's, or has expired. */
export async function verifyToken(token: string, audience: string, secret: Uint8Array): Promise<Claims> {
  const { payload } = await jwtVerify(token, secret, {
    algorithms: ["HS256"],
    issuer: "procman",
    audience,
    clockTolerance: LEEWAY_SECONDS,
    requiredClaims: ["sub", "iat"],
  });
  const granted = String(payload.scope ?? "").split(" ");
  return { audience, consumer: String(payload.sub), scopes: SCOPES.filter((scope) => granted.includes(scope)) };
}

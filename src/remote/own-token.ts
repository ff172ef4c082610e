/** The token that command line and library make for themselves: whoever may read the secret may do everything. */
import { createHmac } from "node:crypto";

/** Seconds. A request that waits is let in once, at its beginning. */
const VALID_SECONDS = 60;

/** A JWT as `contract/token.ts` verifies it (HS256). Made here by hand: `jose` takes 8 ms to load. */
export function ownToken(audience: string, consumer: string, secret: Uint8Array): string {
  const issued = Math.floor(Date.now() / 1_000);
  const claims = { iss: "procman", aud: audience, sub: consumer, iat: issued, exp: issued + VALID_SECONDS, scope: "admin" };
  const text = [{ alg: "HS256" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

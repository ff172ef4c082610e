/**
 * The token that a process gets to speak for itself: a JWT (RFC 7519) signed with HS256, `header.payload.HMAC`. `jose`, which
 * checks it, would take longer to load than all the processes take to start.
 */
import { createHmac } from "node:crypto";
import { ISSUER, type Scope } from "../contract/claims.ts";

const HEADER = base64url(JSON.stringify({ alg: "HS256", typ: "JWT" }));
const SCOPE = (["telemetry", "log"] satisfies Scope[]).join(" ");

/** Of a process or an instance; `audience` is the name of the procman instance. */
export function childToken(process: string, audience: string, secret: Uint8Array): string {
  const iat = Math.floor(Date.now() / 1_000);
  const payload = base64url(JSON.stringify({ iss: ISSUER, aud: audience, sub: `process:${process}`, iat, scope: SCOPE, process }));
  const signed = `${HEADER}.${payload}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}

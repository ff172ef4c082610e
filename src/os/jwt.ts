/**
 * Signs tokens: JWT (RFC 7519) by HS256, that is `header.payload.HMAC`. `jose`, which checks them in the service, would take
 * longer to load than a command takes, or the start of the first processes.
 */
import { builtin } from "./builtin.ts";

const HEADER = base64url({ alg: "HS256", typ: "JWT" });

export function signJwt(payload: object, secret: Uint8Array): string {
  const signed = `${HEADER}.${base64url(payload)}`;
  return `${signed}.${builtin("node:crypto").createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/**
 * Signs tokens: JWT (RFC 7519) with HS256, that is `header.payload.HMAC`. Commands sign with this function because
 * loading
 * `jose`, with which the service verifies tokens, takes longer than a command.
 */
const HEADER = base64url({ alg: "HS256", typ: "JWT" });

export function signJwt(payload: object, secret: Uint8Array): string {
  const signed = `${HEADER}.${base64url(payload)}`;
  return `${signed}.${process.getBuiltinModule("node:crypto").createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

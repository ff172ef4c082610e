/** The REST API: finds the route, checks the token, answers with JSON. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ProcmanError } from "../base/errors.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { ProblemRecord } from "../contract/records.ts";
import { matchRoute, type Route } from "../contract/routes.ts";
import type { Claims } from "../contract/token.ts";

export type ApiOptions = {
  readonly control: (caller: Caller) => Control;
  readonly hostname: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly secret: Uint8Array;
  readonly audience: string;
  /** Consumers whose tokens count no longer. */
  readonly revoked: readonly string[];
};

/** Resolves once it listens. Rejects when the port is taken. */
export async function serveApi(options: ApiOptions): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    handle(request, response, options).catch((error: unknown) =>
      problem(
        response,
        500,
        { code: "internal", title: "Internal Server Error", detail: "this is a bug; procman's own output tells more" },
        error,
      ),
    );
  });
  server.requestTimeout = 30_000;
  server.headersTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.hostname, resolve);
  });
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : options.port };
}

async function handle(request: IncomingMessage, response: ServerResponse, options: ApiOptions): Promise<void> {
  const match = matchRoute(request.method ?? "", (request.url ?? "").split("?", 1)[0] ?? "");
  const claims = await claimsOf(request, options);
  if (claims === undefined)
    return problem(response, 401, { code: "unauthorized", title: "Unauthorized", detail: "a valid bearer token is needed" });
  if ("allowed" in match) return notAllowed(response, match.allowed);
  const { route, id } = match;
  if (!claims.scopes.includes(route.scope) && !claims.scopes.includes("admin"))
    return problem(response, 403, { code: "scope-missing", title: "Forbidden", detail: `the token lacks the scope "${route.scope}"` });
  await answer(response, route, () => route.answer(options.control({ consumer: claims.consumer }), id));
}

async function answer(response: ServerResponse, route: Route, call: () => Promise<unknown>): Promise<void> {
  try {
    send(response, route.status, "application/json", (await call()) ?? {});
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    problem(response, error.status, { code: error.code, title: titleOf(error.status), detail: error.message });
  }
}

/** undefined: no token, or none that counts. */
async function claimsOf(request: IncomingMessage, { secret, audience, revoked }: ApiOptions): Promise<Claims | undefined> {
  const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) return undefined;
  // Loaded apart from the service, which starts its processes first.
  const { verifyToken } = await import("../contract/token.ts");
  const claims = await verifyToken(token, audience, secret).catch(() => undefined);
  return claims === undefined || revoked.includes(claims.consumer) ? undefined : claims;
}

function notAllowed(response: ServerResponse, allowed: readonly string[]): void {
  if (allowed.length === 0) return problem(response, 404, { code: "path-unknown", title: "Not Found", detail: "there is no such path" });
  response.setHeader("allow", allowed.join(", "));
  problem(response, 405, { code: "method-not-allowed", title: "Method Not Allowed", detail: `this path takes ${allowed.join(", ")}` });
}

function problem(response: ServerResponse, status: number, what: Pick<ProblemRecord, "code" | "title" | "detail">, cause?: unknown): void {
  if (cause !== undefined) process.stderr.write(`procman: ${cause instanceof Error ? cause.stack : String(cause)}\n`);
  send(response, status, "application/problem+json", { type: "about:blank", status, ...what } satisfies ProblemRecord);
}

function send(response: ServerResponse, status: number, type: string, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

function titleOf(status: number): string {
  return status === 404 ? "Not Found" : status === 409 ? "Conflict" : "Bad Request";
}

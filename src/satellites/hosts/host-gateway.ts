/**
 * A web server on the loopback address for the dashboard of one machine: so its page has its own origin. The page
 * is that of this package; requests of the API are passed on. All addresses begin with a secret, so other users of this
 * machine get nothing.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { nextOf } from "../../client/client.ts";
import { chunksOf, type Reply } from "../../client/transport.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { SignInExchange } from "../../core/contract/dashboard-access.ts";
import { HOSTS_META, type HostList, type HostSummary } from "../../core/contract/host-links.ts";
import { readQuery, writeQuery } from "../../core/contract/query.ts";
import { ROUTES } from "../../core/contract/routes.ts";
import { Connections } from "../../core/http/connections.ts";
import { type DashboardFiles, POLICY } from "../../core/http/dashboard-files.ts";
import { readBody, refuseBody } from "../../core/http/request-body.ts";
import { sendFile, sendJson, sendProblem } from "../../core/http/responses.ts";
import { matchRoute, type RouteMatch } from "../../core/http/router.ts";
import { SignInCodes } from "../../core/http/sign-in-codes.ts";
import type { HostUpstream } from "./host-upstream.ts";

/** Connections: from the first number on, a new one closes the idlest without the secret. */
const CROWDED = 100;
const MOST_CONNECTIONS = 128;
const TIMES = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 } as const;
/** Longest answer that isn't a stream. Bytes. */
const MOST_BYTES = 67_108_864;
/** What the API answers with; the page reads nothing else. */
const TYPES: readonly string[] = ["application/json", "application/problem+json", "text/event-stream", "text/plain"];
/** Headers of a request that are passed on. */
const PASSED = ["accept", "authorization", "last-event-id"] as const;
/** Headers of each answer. */
const SAFE = {
  "content-security-policy": POLICY,
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;
/** Headers of an answer of the other machine: if it is shown as a page, it may do nothing. */
const SANDBOX = { "content-security-policy": `${POLICY}; sandbox`, "cache-control": "no-store" } as const;
/** An id or a selector, and no way to another folder. */
const ID = /^(?:group:)?(?!\.+$)[\w.-]{1,80}$/;

export type GatewayPorts = {
  readonly upstream: HostUpstream;
  readonly files: DashboardFiles;
  /** Undefined: there is this one alone. */
  readonly hosts: () => HostList | undefined;
  /** Rejects with `path-unknown`. */
  readonly summary: (host: string) => Promise<HostSummary>;
};

type Passing = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly match: RouteMatch;
  readonly query: string;
};

export class HostGateway {
  readonly #ports: GatewayPorts;
  readonly #server: Server;
  readonly #connections = new Connections(CROWDED);
  readonly #codes = new SignInCodes<true>();
  readonly #base = `/${process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url")}/`;
  #port = 0;

  constructor(ports: GatewayPorts) {
    this.#ports = ports;
    // Loaded here: all commands are in one file, and `node:http` takes 10 ms of each start.
    const { createServer } = process.getBuiltinModule("node:http");
    this.#server = createServer(TIMES, (request, response) => void this.#handle(request, response));
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#connections.add(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#base}`;
  }

  /** Signs in, once. `page`: the address within the page. */
  link(page = ""): string {
    return `${this.url}#code=${this.#codes.make(true)}${page === "" ? "" : `&page=${encodeURIComponent(page)}`}`;
  }

  close(): void {
    this.#server.close();
    this.#connections.closeAll();
  }

  /** Never rejects. */
  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#connections.used(request.socket, response);
      for (const [name, value] of Object.entries(SAFE)) response.setHeader(name, value);
      const { method = "", url = "" } = request;
      if (!this.#isOwn(request.headers) || !url.startsWith(this.#base)) throw unknown();
      this.#connections.trust(request.socket);
      const [path = "", query = ""] = url.slice(this.#base.length - 1).split(/\?(.*)/s);
      if (path === "/enter" && method === "GET")
        return void response.writeHead(303, { location: this.link(pageIn(valueIn(query, "page"))) }).end();
      if (path === "/hosts" && method === "GET")
        return sendJson(response, 200, await this.#ports.summary(valueIn(query, "host")));
      await this.#answer({ request, response, match: matchRoute(method, path), query });
    } catch (error) {
      refuse(response, error as Error);
    }
  }

  async #answer(asked: Passing): Promise<void> {
    const { request, response, match } = asked;
    const { route, id } = match;
    const { files } = this.#ports;
    if (route === ROUTES.dashboard) return sendPage(response, files, this.#ports.hosts());
    if (route === ROUTES.asset) return sendFile(request, response, files.asset(id));
    if (route !== ROUTES.exchange) return this.#passOn(asked);
    const { code } = (await readBody(request, { ...ROUTES.exchange.body, onRead: () => undefined })) as SignInExchange;
    if (this.#codes.take(code) === undefined)
      throw new ProcmanError("unauthorized", 'The code was used before, or is too old; run "procman dashboard" again');
    sendJson(response, 200, { token: await this.#ports.upstream.token() });
  }

  /** No page of another site, also by a name that leads here (DNS rebinding). */
  #isOwn({ host, origin }: IncomingHttpHeaders): boolean {
    const own = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    return own.includes(host ?? "") && (origin === undefined || own.some((each) => origin === `http://${each}`));
  }

  async #passOn({ request, response, match: { route, id }, query }: Passing): Promise<void> {
    if (route.path.includes("{id}") && !ID.test(id)) throw unknown();
    const values = readQuery(query, route.parameters) as Parameters<typeof writeQuery>[0];
    const body =
      route.body === undefined
        ? await refuseBody(request)
        : await readBody(request, { ...route.body, onRead: () => undefined });
    const aborter = new AbortController();
    response.once("close", () => aborter.abort());
    const reply = await this.#ports.upstream.send({
      method: route.method,
      path: `${route.path.replace("{id}", encodeURIComponent(id))}${writeQuery(values)}`,
      headers: { ...passed(request.headers), ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(typeof values.wait === "number" && { patienceSeconds: values.wait }),
      signal: aborter.signal,
    });
    const type = typeOf(reply);
    response.writeHead(reply.status, {
      ...SANDBOX,
      "content-type": type,
      ...knownHeaders(reply, route.path.replace("{id}", id)),
    });
    if (request.method === "HEAD") return void response.end();
    await copy(reply, response, { isStream: type === "text/event-stream", signal: aborter.signal });
  }
}

function passed(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    PASSED.flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

/** @throws {ProcmanError} `service-down`: no answer of the API */
function typeOf({ status, headers }: Reply): string {
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (status >= 200 && status <= 599 && TYPES.includes(type)) return type;
  throw new ProcmanError(
    "service-down",
    `its answer is not procman's: status ${status}, type ${JSON.stringify(type.slice(0, 100))}`,
  );
}

/** Headers that the page needs, written anew. */
function knownHeaders({ headers }: Reply, path: string): Readonly<Record<string, string>> {
  const next = nextOf(headers.get("link"));
  const retry = headers.get("retry-after") ?? "";
  return {
    ...(next !== undefined && { link: `<${path}${writeQuery({ cursor: next })}>; rel="next"` }),
    ...(/^\d{1,6}$/.test(retry) && { "retry-after": retry }),
  };
}

async function copy(
  { body }: Reply,
  response: ServerResponse,
  { isStream, signal }: { readonly isStream: boolean; readonly signal: AbortSignal },
): Promise<void> {
  let bytes = 0;
  for await (const chunk of chunksOf(body)) {
    bytes += chunk.length;
    if (!isStream && bytes > MOST_BYTES) throw new Error(`its answer has more than ${MOST_BYTES} bytes`);
    if (!response.write(chunk)) await once(response, "drain", { signal });
  }
  response.end();
}

/** The page, with the list of machines in its head. */
async function sendPage(response: ServerResponse, { page }: DashboardFiles, list: HostList | undefined): Promise<void> {
  const text = Buffer.from(await page.plain()).toString("utf8");
  const content = JSON.stringify(list ?? {}).replace(/[&"<>]/g, (found) => `&#${found.charCodeAt(0)};`);
  const shown =
    list === undefined ? text : text.replace("<head>", () => `<head><meta name="${HOSTS_META}" content="${content}">`);
  response.writeHead(200, { ...page.headers, "cache-control": "no-store" }).end(shown);
}

function valueIn(query: string, name: string): string {
  return new URLSearchParams(query).get(name) ?? "";
}

/** An address within a page, else none. */
function pageIn(page: string): string {
  return /^#\/[\w/?=&%.:+-]{0,500}$/.test(page) ? page : "";
}

export function unknown(): ProcmanError {
  return new ProcmanError("path-unknown", 'There is nothing here; "procman dashboard --host" prints an address');
}

/** As the API answers (RFC 9457): its own refusals with their status, all else as a failure of the other machine. */
function refuse(response: ServerResponse, error: Error): void {
  if (error instanceof ProcmanError && error.code !== "service-down") return sendProblem(response, error);
  if (response.headersSent) return void response.destroy();
  const problem = {
    type: "about:blank",
    title: "Bad Gateway",
    status: 502,
    detail: error.message,
    code: "service-down",
  };
  response.writeHead(502, { ...SANDBOX, "content-type": "application/problem+json" }).end(JSON.stringify(problem));
}

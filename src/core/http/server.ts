/** The REST API server: finds the route, authenticates and authorizes, answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createNetServer, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as TlsServer } from "node:tls";
import { GIVES_WAY, ProcmanError } from "../base/errors.ts";
import { ANONYMOUS, type Caller, type Control } from "../contract/control.ts";
import type { DashboardAccess, DashboardFile } from "../contract/dashboard-access.ts";
import type { Executor } from "../contract/execution.ts";
import { readQuery, writeQuery } from "../contract/query.ts";
import { Page, type Route, type RouteInput } from "../contract/route.ts";
import { type Claims, SCOPES_HEADER } from "../contract/token-claims.ts";
import { AddressLimit } from "./address-limit.ts";
import { Authenticator, checkScope, type TokenAccess } from "./auth.ts";
import { Connections } from "./connections.ts";
import type { CodeAsker, Dashboard } from "./dashboard.ts";
import { type StreamLimits, Streams } from "./event-streams.ts";
import type { TokenGrant } from "./grant-cache.ts";
import { allow, OriginCheck } from "./origin.ts";
import { PortSocket, Turns } from "./port-socket.ts";
import { RateLimiter } from "./rate-limit.ts";
import { RefusalLog } from "./refusal-log.ts";
import { readBody, refuseBody } from "./request-body.ts";
import { HttpError, problem, sendFile, sendJson, sendProblem, sendText } from "./responses.ts";
import { isOpen, matchRoute, methodsOf, type RouteMatch } from "./router.ts";

export type ApiLimits = StreamLimits & {
  /** Maximum number of connections; further ones are refused. */
  readonly connections: number;
  /** From this number of connections on, a new one closes the idlest of those without a valid token. */
  readonly crowded: number;
  /** Timeouts for the handshake of TLS, the headers, and the whole request. Milliseconds. */
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
};

const LIMITS: ApiLimits = {
  connections: 1_024,
  crowded: 900,
  handshakeMs: 3_000,
  headersMs: 10_000,
  requestMs: 30_000,
  streams: 512,
  streamsEach: 64,
  heartbeatMs: 15_000,
};

export type ApiOptions = {
  readonly control: (caller: Caller) => Control;
  readonly executor: (caller: Caller) => Executor;
  readonly access: TokenAccess;
  /** Name of the instance, which is the audience of tokens. */
  readonly audience: string;
  /** Address on which it will listen. */
  readonly hostname: string;
  /** Its port speaks TLS; the certificate is given to the server later. */
  readonly tls?: boolean;
  /** Signs a token for the dashboard. */
  readonly sign: (claims: Claims) => string;
  /** Called for each action that was refused because of the token's scope. */
  readonly denied?: (text: string) => void;
  /** Called for each sign-in to the dashboard. */
  readonly noted?: (text: string) => void;
  /** Folder of the dashboard's files. Default: that of the build. */
  readonly dashboardFolder?: string;
  /** Origins whose pages may send requests. Default: only its own. */
  readonly cors?: readonly string[];
  /** Names under which a reverse proxy serves it. */
  readonly hosts?: readonly string[];
  readonly limits?: Partial<ApiLimits>;
};

/** Time for the last answers when the server closes. Milliseconds. */
const LAST_ANSWERS_MS = 100;
/** Interval at which it notices that it stood still. Milliseconds. */
const PULSE_MS = 500;
/** Length of a path in the log. Characters. */
const PATH_SHOWN = 200;
const NEVER = new AbortController().signal;
/** As `node:http` has its sockets. */
const HALF_OPEN = { allowHalfOpen: true, noDelay: true } as const;

export class Api {
  /** The servers, not listening yet: for its port, and for the Unix socket, which answers the requests of both. */
  readonly server: NetServer | TlsServer;
  readonly local: Server;
  readonly #control: (caller: Caller) => Control;
  readonly #executor: (caller: Caller) => Executor;
  readonly #denied: (text: string) => void;
  readonly #authenticator: Authenticator;
  readonly #origin: OriginCheck;
  readonly #streams: Streams;
  readonly #rates = new RateLimiter();
  readonly #addresses = new AddressLimit();
  readonly #turns = new Turns();
  readonly #connections: Connections;
  /** Connections whose requests need no token, and what they may do. */
  readonly #members = new WeakMap<object, Claims>();
  readonly #makeDashboard: () => Promise<Dashboard>;
  #dashboard: Promise<Dashboard> | undefined;
  #isClosing = false;
  readonly #pulse = setInterval(() => this.#beat(), PULSE_MS).unref();
  #lastBeat = performance.now();
  #stalledAt = Number.NEGATIVE_INFINITY;
  readonly #headersMs: number;

  constructor(given: ApiOptions) {
    const { control, executor, access, audience, hostname, tls = false, cors, hosts, limits } = given;
    const { denied = () => undefined } = given;
    const { connections, crowded, handshakeMs, headersMs, requestMs, ...streams } = { ...LIMITS, ...limits };
    this.#control = control;
    this.#executor = executor;
    this.#headersMs = headersMs;
    this.#denied = denied;
    const refusals = new RefusalLog(denied);
    this.#authenticator = new Authenticator(access, audience, (consumer, why) =>
      refusals.add(consumer, why, `request of "${consumer}" refused: ${why}`),
    );
    this.#makeDashboard = () => loadDashboard(given, (text) => refusals.add("", text, text));
    this.#origin = new OriginCheck(hostname, cors, hosts);
    this.#streams = new Streams(streams, (grant) => this.#authenticator.refusal(grant));
    const options = {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(5_000, headersMs),
      // Refused here, with a problem as its answer.
      requireHostHeader: false,
    };
    const handle = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#handle(request, response).catch((error: unknown) => sendProblem(response, error));
    this.local = createServer(options, handle);
    this.local.on("clientError", (error: NodeJS.ErrnoException, socket) =>
      refuseConnection(error, socket, this.#wasStalled),
    );
    this.local.on("checkExpectation", refuseExpectation);
    // It begins to track its connections.
    this.local.emit("listening");
    this.#connections = new Connections(crowded);
    this.local.on(
      "connection",
      (socket) => void (socket instanceof PortSocket || this.#connections.addTrusted(socket)),
    );
    this.server = tls ? this.#tlsServer(handshakeMs) : createNetServer(HALF_OPEN, (socket) => this.#serve(socket));
    this.server.maxConnections = connections;
  }

  /** Serves a connection of the socket of a group: all its requests are those of this consumer. */
  serveMember(socket: Socket, claims: Claims): void {
    this.#members.set(socket, claims);
    this.local.emit("connection", socket);
  }

  /** Tokens may have become invalid: ends their streams. */
  recheck(): void {
    this.#streams.recheck();
  }

  /** No action is carried out any more. */
  giveWay(): void {
    this.#isClosing = true;
  }

  /** Accepts no more connections, and answers what has arrived, unless that lasts. */
  async close(): Promise<void> {
    this.giveWay();
    clearInterval(this.#pulse);
    const servers = [this.server, this.local];
    // Not `close` of http: since Node 26 (nodejs/node#63470) it also ends connections whose first request has not
    // arrived.
    const closed = servers.map((server) => new Promise((resolve) => NetServer.prototype.close.call(server, resolve)));
    this.#streams.close();
    this.#connections.closeIdle();
    await this.#connections.drained(LAST_ANSWERS_MS);
    this.#connections.closeAll();
    await Promise.all(closed);
  }

  #tlsServer(handshakeTimeout: number): TlsServer {
    const options = { ...HALF_OPEN, handshakeTimeout, ALPNProtocols: ["http/1.1"] };
    const handshakes = new Map<string, Socket>();
    const server = process.getBuiltinModule("node:tls").createServer(options, (socket) => {
      this.#serve(socket);
      this.#connections.forget(handshakes.get(peerOf(socket)) ?? socket);
    });
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server.on("connection", (socket) => {
      const peer = peerOf(socket);
      handshakes.set(peer, socket);
      socket.once("close", () => handshakes.delete(peer));
      this.#connections.add(socket);
    });
  }

  /** A connection of the port. */
  #serve(socket: Socket): void {
    const served = new PortSocket(socket, this.#turns);
    this.#connections.add(served);
    this.local.emit("connection", served);
  }

  #beat(): void {
    const now = performance.now();
    if (now - this.#lastBeat > 2 * PULSE_MS) this.#stalledAt = now;
    this.#lastBeat = now;
  }

  /** Whether the server may have been too late to read what a client has sent in time. */
  get #wasStalled(): boolean {
    this.#beat();
    return performance.now() - this.#stalledAt < this.#headersMs;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request as { readonly socket: Socket | PortSocket };
    this.#connections.used(socket, response);
    if (socket instanceof PortSocket) socket.begun(request, response);
    useOriginForm(request);
    const { method = "", url = "" } = request;
    if (this.#isClosing) response.setHeader("connection", "close");
    const cut = url.indexOf("?");
    const path = cut < 0 ? url : url.slice(0, cut);
    allow(response, this.#origin.check(request.headers));
    const member = this.#members.get(socket);
    if (member !== undefined) response.setHeader(SCOPES_HEADER, member.scopes.join(", "));
    const isOptions = method === "OPTIONS" && (path === "*" || methodsOf(path).length > 0);
    if (isOptions || isOpen(path)) this.#addresses.admit(request);
    if (isOptions) return sendOptions(response, path);
    // Without a token only routes that need none are answered.
    const match = isOpen(path) ? matchRoute(method, path) : undefined;
    const query = cut < 0 ? "" : url.slice(cut + 1);
    if (match !== undefined) return this.#answerAnyone({ request, response, query, ...match });
    const grant = await this.#authenticator.grant(request, member);
    this.#connections.trust(socket);
    if (socket instanceof PortSocket) socket.trust();
    const found = matchRoute(method, path);
    this.#checkScope(grant, found.route, path);
    await this.#answer({ request, response, query, grant, ...found });
  }

  async #answerAnyone({ request, response, route, id, query }: OpenRequest): Promise<void> {
    const values = readQuery(query, route.parameters);
    const body =
      route.body === undefined ? undefined : await readBody(request, { ...route.body, onRead: () => undefined });
    const executor = (): Executor => this.#executor(ANONYMOUS);
    const input: RouteInput = { id, query: values, body, signal: NEVER, dashboard: () => this.#access(), executor };
    await sendResult({ request, response, route }, await route.answer(this.#control(ANONYMOUS), input));
  }

  /** Loaded when it is asked for. */
  async #access(asker?: CodeAsker): Promise<DashboardAccess> {
    this.#dashboard ??= this.#makeDashboard();
    return (await this.#dashboard).access(asker);
  }

  #checkScope({ claims }: TokenGrant, { method, scope, orScope }: Route, path: string): void {
    if (scope === undefined) return;
    try {
      checkScope(claims, scope, orScope);
    } catch (error) {
      if (method === "POST")
        this.#denied(
          `${method} ${path.slice(0, PATH_SHOWN)} for "${claims.consumer}": refused: ${(error as Error).message}`,
        );
      throw error;
    }
  }

  async #answer(asked: ApiRequest): Promise<void> {
    const { request, response, route, id, grant } = asked;
    const query = asked.query === "" ? {} : readQuery(asked.query, route.parameters);
    const onRead = this.#rates.admit(route, grant.claims, Number(request.headers["content-length"]));
    const body =
      route.body === undefined ? await refuseBody(request) : await readBody(request, { ...route.body, onRead });
    const follow = query.follow === true ? route.follow : undefined;
    const streams = route.output.kind === "stream" || follow !== undefined;
    if (streams && request.method === "HEAD") return sendText(response, 200, "", "text/event-stream");
    const lasts = streams || route.lasts === true || (typeof query.wait === "number" && query.wait > 0);
    const signal = lasts ? this.#streams.admit(response, grant) : NEVER;
    const caller = callerOf(grant, request);
    const asker = { caller, claims: grant.claims, refusal: () => this.#authenticator.refusal(grant) };
    const input: RouteInput = {
      id,
      query,
      body,
      signal,
      dashboard: () => this.#access(asker),
      executor: () => this.#executor(caller),
      ...lastEventId(request),
    };
    // It would not be carried out any more.
    if (this.#isClosing && request.method === "POST")
      throw new ProcmanError("service-down", `Cannot carry out the request: ${GIVES_WAY}`);
    const control = this.#control(caller);
    if (streams)
      return this.#streams.write(
        response,
        (follow ?? route).answer(control, input) as AsyncIterable<unknown>,
        route.lasts,
      );
    const result = await route.answer(control, input);
    if (result instanceof Page) sendPage(asked, result);
    else await sendResult(asked, result);
  }
}

/** A client in a handshake and after it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

type OpenRequest = RouteMatch & {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
};

type ApiRequest = OpenRequest & { readonly grant: TokenGrant };

async function loadDashboard(
  { audience, sign, noted = () => undefined, dashboardFolder: folder }: ApiOptions,
  refused: (text: string) => void,
): Promise<Dashboard> {
  const { Dashboard } = await import("./dashboard.ts");
  return new Dashboard({ audience, sign, noted, refused, ...(folder === undefined ? {} : { folder }) });
}

function callerOf({ claims, secret }: TokenGrant, { socket }: { readonly socket: Socket | PortSocket }): Caller {
  const { consumer, by, process, limits, user, scopes } = claims;
  // The token was signed for its consumer, not asked for by another one: "mcp (claude)" is a session of "mcp".
  const isOwn = by === undefined || consumer.startsWith(`${by} (`);
  return {
    consumer: isOwn ? consumer : `${consumer} of ${by}`,
    scopes,
    ...(process === undefined ? {} : { process }),
    ...(limits && { limits }),
    ...(user && { user }),
    ...(!(socket instanceof PortSocket) && secret !== undefined && isOwn && { isOwner: true as const }),
  };
}

type Answered = Pick<OpenRequest, "request" | "response" | "route">;

async function sendResult({ request, response, route: { status, output } }: Answered, result: unknown): Promise<void> {
  if (output.kind === "file") await sendFile(request, response, result as DashboardFile);
  else if (output.kind === "text") sendText(response, status, String(result), output.type);
  else sendJson(response, status, (result ?? {}) as object);
}

function sendPage({ response, request, query, route }: ApiRequest, { items, next }: Page): void {
  if (next === undefined) return sendJson(response, route.status, items);
  const rest = new URLSearchParams(query);
  rest.delete("cursor");
  const path = (request.url ?? "").split("?", 1)[0];
  const link = `${path}${rest.size === 0 ? "" : `?${rest}&`}${writeQuery({ cursor: next }).slice(rest.size === 0 ? 0 : 1)}`;
  sendJson(response, route.status, items, { link: `<${link}>; rel="next"` });
}

function sendOptions(response: ServerResponse, path: string): void {
  response.writeHead(204, { allow: path === "*" ? "GET, HEAD, POST, OPTIONS" : methodsOf(path).join(", ") });
  response.end();
}

/** A target in absolute form (RFC 9112, 3.2.2) becomes a path; its host counts, not that of the header. @throws {ProcmanError} `request-unreadable` */
function useOriginForm(request: IncomingMessage): void {
  const [, host, rest = ""] = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(request.url ?? "") ?? [];
  if (host !== undefined) {
    request.headers.host = host;
    request.url = rest.startsWith("/") ? rest : `/${rest}`;
  }
  if (request.headers.host === undefined && request.httpVersion === "1.1")
    throw new HttpError("request-unreadable", 'Cannot read the request: it has no header "Host"', {
      connection: "close",
    });
}

function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const detail = 'Cannot take the request: the only expectation that can be met is "100-continue"';
  sendProblem(response, new HttpError("expectation-unknown", detail, { connection: "close" }));
}

function lastEventId({ headers }: IncomingMessage): Pick<RouteInput, "lastEventId"> {
  const id = headers["last-event-id"];
  return typeof id === "string" && id !== "" && id.length <= 1_000 ? { lastEventId: id } : {};
}

/** Answers a request that isn't HTTP or arrives too slowly; `wasStalled`: this service was too slow. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex, wasStalled: boolean): void {
  const isTlsError = error.code?.startsWith("ERR_SSL_") === true || error.code === "ERR_TLS_HANDSHAKE_TIMEOUT";
  if (!socket.writable || socket.destroyed || isTlsError) return void socket.destroy();
  const [status, detail] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "its address and headers have more than 16 KiB"]
      : error.code !== "ERR_HTTP_REQUEST_TIMEOUT"
        ? [400, "it is not HTTP/1.1"]
        : wasStalled
          ? [503, "procman's service was busy; try again"]
          : [408, "it came too slowly"];
  const body = JSON.stringify(
    problem(
      Number(status),
      status === 503 ? "service-down" : "request-unreadable",
      `Cannot read the request: ${detail}`,
    ),
  );
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[Number(status)]}`,
    "Connection: close",
    ...(status === 503 ? ["Retry-After: 0"] : []),
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

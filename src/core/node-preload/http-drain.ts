/**
 * No request on a kept connection is lost. A server that closes listens no more, keeps its connections, and ends each
 * with its next answer (`Connection: close`), or when nothing was asked on it for a while. The `close` of Node ends
 * idle ones at once, also those on which a request is under way.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import { Server, type Socket } from "node:net";

type HttpServer = Server & { readonly closeIdleConnections?: () => void };

const { close: closeServer } = Server.prototype;

/** All servers that listen, or have connections. */
const drains = new Map<Server, HttpDrain>();

/** The connections of an HTTP server. */
class HttpDrain {
  readonly #server: HttpServer;
  readonly #idleMs: number;
  /** Answers under way of each HTTP/1.1 connection. */
  readonly #answers = new Map<Socket, Set<ServerResponse>>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;
  /** Set when the server was closed before the program asked for it: the event "close" waits for that. `over`: the event would have come. */
  #early: "open" | "over" | undefined;
  #changed = (): void => undefined;

  constructor(server: HttpServer, idleMs: number) {
    this.#server = server;
    this.#idleMs = idleMs;
  }

  /** Forgets a drain: the server listens again. */
  reset(): void {
    clearInterval(this.#timer);
    this.#isDraining = false;
    this.#early = undefined;
  }

  /** Before its listeners. Returns whether they get the event. */
  onEvent(event: unknown, [first, second]: readonly unknown[]): boolean {
    if (event === "close" && this.#early !== undefined) {
      this.#early = "over";
      return false;
    }
    // The socket below TLS is another one.
    if (event === ("setSecureContext" in this.#server ? "secureConnection" : "connection"))
      this.#onSocket(first as Socket);
    else if (event === "session") this.#onSession(first as ServerHttp2Session);
    else if (event === "request" || event === "checkContinue" || event === "checkExpectation")
      this.#onRequest((first as IncomingMessage).socket, second as ServerResponse);
    else if (event === "upgrade" || event === "connect") this.#forget(second as Socket);
    return true;
  }

  /** As `close` of Node, but idle connections stay for a while. */
  close(callback: unknown): void {
    if (this.#early === undefined) {
      if (this.#server.listening) this.#begin();
      closeServer.call(this.#server, callback as () => void);
      return;
    }
    const isOver = this.#early === "over";
    this.#early = undefined;
    if (typeof callback === "function") this.#server.once("close", callback as () => void);
    if (isOver) process.nextTick(() => this.#server.emit("close"));
  }

  /** Resolves when all connections have ended but WebSockets and those with an answer that has begun, or after a while. */
  async closeEarly(): Promise<void> {
    if (!this.#server.listening) return;
    this.#early = "open";
    const begun = new Set(
      [...this.#answers].flatMap(([socket, answers]) => ([...answers].some(hasBegun) ? socket : [])),
    );
    this.#begin();
    closeServer.call(this.#server);
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, this.#idleMs);
      this.#changed = () => {
        if ([...this.#answers.keys()].some((socket) => !begun.has(socket))) return;
        clearTimeout(limit);
        resolve();
      };
      this.#changed();
    });
  }

  #begin(): void {
    this.#isDraining = true;
    for (const answers of this.#answers.values()) for (const answer of answers) endWith(answer);
    this.#endSessions();
    this.#timer = setInterval(() => this.#endIdle(), Math.max(this.#idleMs, 1)).unref();
    this.#server.once("close", () => {
      clearInterval(this.#timer);
      drains.delete(this.#server);
    });
  }

  #endIdle(): void {
    this.#server.closeIdleConnections?.();
    this.#endSessions();
  }

  /** By GOAWAY: streams under way are answered, later ones refused, which a client may repeat whatever they ask. */
  #endSessions(): void {
    for (const session of this.#sessions) session.close();
  }

  #onSocket(socket: Socket & { readonly alpnProtocol?: unknown }): void {
    if (socket.alpnProtocol === "h2" || this.#server.closeIdleConnections === undefined) return;
    this.#answers.set(socket, new Set());
    socket.once("close", () => this.#forget(socket));
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
  }

  #onRequest(socket: Socket, answer: ServerResponse): void {
    const answers = this.#answers.get(socket);
    if (answers === undefined) return;
    answers.add(answer);
    answer.once("close", () => answers.delete(answer));
    if (this.#isDraining) endWith(answer);
  }

  #forget(socket: Socket): void {
    this.#answers.delete(socket);
    this.#changed();
  }
}

function hasBegun({ headersSent }: ServerResponse): boolean {
  return headersSent;
}

/** The connection ends with this answer. */
function endWith(answer: ServerResponse): void {
  if (hasBegun(answer)) return;
  const writeHead = answer.writeHead as (...args: unknown[]) => ServerResponse;
  answer.writeHead = (...args: unknown[]): ServerResponse => {
    answer.setHeader("connection", "close");
    return writeHead.apply(answer, args.map(withoutConnection));
  };
}

function withoutConnection(headers: unknown): unknown {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "connection"));
}

/** Call before it listens. Servers of other protocols stay as they are, but with `isAny`. */
export function watchServer(server: Server, idleMs: number, isAny = false): void {
  const prototype = httpPrototype(server) ?? (isAny ? server : undefined);
  if (prototype === undefined) return;
  if (!drains.has(server)) drains.set(server, new HttpDrain(server, idleMs));
  drains.get(server)?.reset();
  if (Object.hasOwn(prototype, "emit")) return;
  const emit = prototype.emit as (event: unknown, ...args: unknown[]) => boolean;
  prototype.emit = function (this: Server, event: unknown, ...args: unknown[]): boolean {
    return drains.get(this)?.onEvent(event, args) === false || emit.call(this, event, ...args);
  } as Server["emit"];
  const { close } = prototype;
  prototype.close = function (this: Server, callback?: (error?: Error) => void): Server {
    const drain = drains.get(this);
    if (drain === undefined) return close.call(this, callback);
    drain.close(callback);
    return this;
  };
}

/** Prototype of a server of HTTP/1.1 or HTTP/2, with or without TLS: each has a method that no other server has. */
function httpPrototype(server: Server): Server | undefined {
  for (
    let each = Object.getPrototypeOf(server);
    each !== null && each !== Server.prototype;
    each = Object.getPrototypeOf(each)
  )
    if (Object.hasOwn(each, "closeIdleConnections") || Object.hasOwn(each, "updateSettings")) return each;
  return undefined;
}

/**
 * A handler of the program for this signal is called when the connections have ended, or after a while. `ended`: all
 * connections have ended of a server that may get a client just before the signal. Then it delays the signal, too, and
 * without a handler the program ends only then.
 */
export function drainBefore(signal: NodeJS.Signals, idleMs: number, ended?: () => Promise<void>): void {
  const emit = process.emit as (event: unknown, ...args: unknown[]) => boolean;
  const keepAlive = (): void => undefined;
  const hasHandler = (): boolean => process.listeners(signal).some((each) => each !== keepAlive);
  let state: "running" | "draining" | "over" = "running";
  const over = (args: readonly unknown[]): void => {
    state = "over";
    process.off(signal, keepAlive);
    if (ended === undefined || hasHandler()) emit.call(process, signal, ...args);
    else process.kill(process.pid, signal);
  };
  process.emit = ((event: unknown, ...args: unknown[]): boolean => {
    // The next keeper repeats a signal if the one before was killed just after it.
    if (event === signal && state === "draining" && ended !== undefined) return true;
    if (event !== signal || state !== "running") return emit.call(process, event, ...args);
    state = "draining";
    const closed = [...drains.values()].map((drain) => drain.closeEarly());
    const limit = hasHandler() ? [sleep(idleMs)] : [];
    if (ended !== undefined) closed.push(Promise.race([ended(), ...limit]));
    void Promise.all(closed).then(() => over(args));
    return true;
  }) as typeof process.emit;
  // Node remembers `emit` when the first handler is added.
  if (ended !== undefined) process.on(signal, keepAlive);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

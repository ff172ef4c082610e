/** A connection of the port. Until a request of it has had a valid token, it is read request by request, in turns with all others. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Requests that a connection without a valid token may have. */
const MOST_REQUESTS = 100;
/** Time in which an answer without a valid token must be taken. Milliseconds. */
const UNREAD_MS = 30_000;
const NOTHING = Buffer.alloc(0);

type Written = (error?: Error | null) => void;

/** Connections without a valid token that have something to read: in each turn of the event loop it is the turn of one. */
export class Turns {
  readonly #waiting = new Set<PortSocket>();

  add(socket: PortSocket): void {
    if (this.#waiting.size === 0) setImmediate(() => this.#next());
    this.#waiting.add(socket);
  }

  #next(): void {
    const [socket] = this.#waiting;
    if (socket === undefined) return;
    this.#waiting.delete(socket);
    if (this.#waiting.size > 0) setImmediate(() => this.#next());
    socket.readOne();
  }
}

/** What `node:http` needs of a socket. */
export class PortSocket extends Duplex {
  readonly #socket: Socket;
  readonly #turns: Turns;
  #isTrusted = false;
  /** Received, and not read yet. */
  #pending: Buffer = NOTHING;
  #requests = 0;
  /** Requests that have no whole answer yet. */
  #answering = 0;
  #last: IncomingMessage | undefined;

  constructor(socket: Socket, turns: Turns) {
    super({ decodeStrings: false });
    this.#socket = socket;
    this.#turns = turns;
    socket
      .on("data", (bytes: Buffer) => this.#received(bytes))
      .once("end", () => this.push(null))
      .on("timeout", () => this.emit("timeout"))
      .on("error", (error) => this.destroy(error))
      .once("close", () => this.destroy());
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** A request has begun. The next one is read when this one has been answered, and the answer was taken. */
  begun(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isTrusted) return;
    this.#requests += 1;
    if (this.#requests >= MOST_REQUESTS) response.setHeader("connection", "close");
    this.#last = request;
    this.#answering += 1;
    response.once("close", () => {
      this.#answering -= 1;
      this.#await();
    });
  }

  /** A request had a valid token. */
  trust(): void {
    if (this.#isTrusted) return;
    this.#isTrusted = true;
    const rest = this.#pending;
    this.#pending = NOTHING;
    if (rest.length === 0 || this.push(rest)) this.#socket.resume();
  }

  /** Takes its turn: reads up to the end of one request, or of its headers. */
  readOne(): void {
    // The rest of a request is read, but no further request.
    if (this.#isTrusted || this.destroyed || (this.#answering > 0 && this.#last?.complete !== false)) return;
    const end = endOfHeaders(this.#pending);
    const piece = this.#pending.subarray(0, end);
    this.#pending = this.#pending.subarray(end);
    if (piece.length > 0) this.push(piece);
    this.#await();
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  override _read(): void {
    if (this.#isTrusted) this.#socket.resume();
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: Written): void {
    this.#socket.write(chunk, encoding, this.#limited(done));
  }

  override _writev(
    chunks: readonly { readonly chunk: string | Buffer; readonly encoding: BufferEncoding }[],
    done: Written,
  ): void {
    const written = this.#limited(done);
    this.#socket.cork();
    for (const [index, { chunk, encoding }] of chunks.entries())
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? written : undefined);
    this.#socket.uncork();
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: Written): void {
    this.#socket.destroy();
    done(error);
  }

  #received(bytes: Buffer): void {
    if (this.#isTrusted) {
      if (!this.push(bytes)) this.#socket.pause();
      return;
    }
    this.#socket.pause();
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#await();
  }

  #await(): void {
    if (this.#isTrusted || this.destroyed) return;
    if (this.#pending.length > 0) this.#turns.add(this);
    else this.#socket.resume();
  }

  #limited(done: Written): Written {
    if (this.#isTrusted) return done;
    const timer = setTimeout(() => this.destroy(), UNREAD_MS).unref();
    return (error) => {
      clearTimeout(timer);
      done(error);
    };
  }
}

/** After the first empty line; without one, all of it, in which at most one request ends. */
function endOfHeaders(bytes: Buffer): number {
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
    const next = bytes[at + 1] === 0x0d ? at + 2 : at + 1;
    if (bytes[next] === 0x0a) return next + 1;
  }
  return bytes.length;
}

/**
 * Behind procman's load balancer a connection has the address of its client: the balancer begins each with a header
 * (PROXY protocol, version 2). The program gets a connection when its header was read. A header counts only with the
 * token of this process, which nobody else knows, so no client can choose its address.
 */
import { Server, Socket } from "node:net";

const SIGNATURE = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
const HEAD_BYTES = 16;
/** Length of a header with IPv6 addresses and a token. */
const MOST_BYTES = HEAD_BYTES + 36 + 11;
/** The command of a header that names no client: the balancer asks whether headers are read here. */
const QUESTION = 0x20;
const TCP4 = 0x11;

/**
 * The balancer's header comes at once. What says nothing for so long is a local program, which may wait for a greeting.
 * Milliseconds.
 */
const SILENT_MS = 3_000;

type NamedPeer = { readonly remoteAddress: string; readonly remotePort: number; readonly remoteFamily: string };

/** `length`: 0 if there is none. `client`: undefined in a question. */
type Header = { readonly length: number; readonly client?: NamedPeer };

export class ClientAddresses {
  readonly #token: Buffer;
  /** A plain `net` server gets the header, as the configuration says that its program reads it. */
  readonly #isRaw: boolean;
  readonly #emit = Server.prototype.emit as (event: unknown, ...args: unknown[]) => boolean;
  readonly #servers = new WeakSet<Server>();
  /** By the port of the balancer's end: the socket of TLS is another one than that of its bytes. */
  readonly #clients = new Map<number, NamedPeer>();

  constructor(token: string, isRaw: boolean) {
    this.#token = Buffer.from(token, "hex");
    this.#isRaw = isRaw;
    const onEvent = (server: Server, event: unknown, args: readonly unknown[]): boolean =>
      (this.#servers.has(server) && this.#onEvent(server, event, args)) || this.#emit.call(server, event, ...args);
    Server.prototype.emit = function (this: Server, event: unknown, ...args: unknown[]): boolean {
      return onEvent(this, event, args);
    } as Server["emit"];
  }

  /** Reads the headers of this server's connections; call it before the server listens for the balancer. */
  read(server: Server): void {
    if (!this.#isRaw || Object.getPrototypeOf(server) !== Server.prototype) this.#servers.add(server);
  }

  /** Returns whether the event comes later, or never. */
  #onEvent(server: Server, event: unknown, args: readonly unknown[]): boolean {
    if (event === "secureConnection") this.#name(args[0] as Socket);
    else if (event === "tlsClientError") this.#name(args[1] as Socket);
    if (event !== "connection" || !(args[0] instanceof Socket) || args[0].isPaused()) return false;
    this.#await(server, args[0]);
    return true;
  }

  #name(socket: Socket): void {
    const client = this.#clients.get(socket.remotePort ?? 0);
    if (client !== undefined) define(socket, client);
  }

  #await(server: Server, socket: Socket): void {
    let bytes = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      bytes = Buffer.concat([bytes, chunk]);
      const header = headerOf(bytes, this.#token);
      if (header !== undefined) over(header);
    };
    const end = (): void => {
      clearTimeout(silence);
      socket.destroy();
    };
    const over = ({ length, client }: Header): void => {
      clearTimeout(silence);
      socket.off("readable", onReadable).off("end", end);
      if (length > 0 && client === undefined) {
        socket.write(this.#token);
        return socket.destroySoon();
      }
      if (length < bytes.length) socket.unshift(bytes.subarray(length));
      if (client !== undefined) this.#remember(socket, client);
      // When the stream has forgotten that it was read.
      process.nextTick(() => {
        socket.off("error", end);
        if (socket.readableEnded) socket.destroy();
        if (!socket.destroyed) this.#emit.call(server, "connection", socket);
      });
    };
    const silence = setTimeout(() => {
      refuseHeader(socket);
      over({ length: 0 });
    }, SILENT_MS);
    socket.on("readable", onReadable).on("end", end).on("error", end);
  }

  #remember(socket: Socket, client: NamedPeer): void {
    const { remotePort = 0 } = socket;
    define(socket, client);
    this.#clients.set(remotePort, client);
    socket.once("close", () => this.#clients.get(remotePort) === client && this.#clients.delete(remotePort));
  }
}

function define(socket: Socket, client: NamedPeer): void {
  for (const [name, value] of Object.entries(client))
    Object.defineProperty(socket, name, { value, configurable: true, enumerable: true });
}

/** undefined: more bytes are needed. */
function headerOf(bytes: Buffer, token: Buffer): Header | undefined {
  const none = { length: 0 };
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE.subarray(0, bytes.length))) return none;
  if (bytes.length < HEAD_BYTES) return undefined;
  const length = HEAD_BYTES + bytes.readUInt16BE(HEAD_BYTES - 2);
  if (length > MOST_BYTES) return none;
  if (bytes.length < length) return undefined;
  if (!bytes.subarray(length - token.length, length).equals(token)) return none;
  return bytes[SIGNATURE.length] === QUESTION ? { length } : { length, client: clientIn(bytes) };
}

function clientIn(bytes: Buffer): NamedPeer {
  if (bytes[SIGNATURE.length + 1] === TCP4)
    return {
      remoteAddress: bytes.subarray(16, 20).join("."),
      remotePort: bytes.readUInt16BE(24),
      remoteFamily: "IPv4",
    };
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(16 + 2 * at).toString(16));
  // In its short form.
  const remoteAddress = new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
  return { remoteAddress, remotePort: bytes.readUInt16BE(48), remoteFamily: "IPv6" };
}

/** Its program takes it for a local one. Should it be the balancer's after all, held up, it ends before the program reads from it. */
function refuseHeader(socket: Socket): void {
  const emit = socket.emit as (event: unknown, ...args: unknown[]) => boolean;
  socket.emit = ((event: unknown, ...args: unknown[]): boolean => {
    if (event !== "data") return emit.call(socket, event, ...args);
    socket.emit = emit as Socket["emit"];
    if (!String(args[0]).startsWith(String(SIGNATURE))) return emit.call(socket, event, ...args);
    socket.destroy();
    return true;
  }) as Socket["emit"];
}

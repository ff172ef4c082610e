/** TCP on `node:net`, for where `tcp-binding` can't be used: documented and slower. Connections stay in the process that accepted them. */
import { createServer, Server, Socket } from "node:net";
import {
  BACKLOG,
  END_OF_FILE,
  KEEP_ALIVE_SECONDS,
  PENDING,
  type SocketName,
  type Tcp,
  type TcpHandle,
  type TcpOwner,
  type TcpServer,
  WRITTEN,
} from "./tcp-handle.ts";

/** Error numbers of Linux: ENOTCONN, ECONNRESET, ECANCELED. */
const NOT_CONNECTED = -107;
const RESET = -104;
const CANCELLED = -125;

export class NetTcp implements Tcp {
  readonly name = "net";
  readonly canMigrate = false;

  async bind(address: string, port: number): Promise<TcpServer> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", ({ code = "EIO" }: NodeJS.ErrnoException) =>
        reject(Object.assign(new Error(code), { code })),
      );
      server.listen({ host: address, port, backlog: BACKLOG }, resolve);
    });
    return new NetServer(server);
  }

  receive(transferable: unknown): TcpServer {
    if (transferable instanceof Server) return new NetServer(transferable);
    // A predecessor on `tcp-binding` sends a handle.
    return new NetServer(createServer({ allowHalfOpen: true }).listen(transferable));
  }

  newSocket(): TcpHandle {
    return new NetHandle(new Socket({ allowHalfOpen: true }));
  }

  connect(handle: TcpHandle, address: string, port: number, done: (status: number) => void): void {
    (handle as NetHandle).connect(address, port, done);
  }

  setOwner(handle: TcpHandle, owner: TcpOwner): void {
    (handle as NetHandle).owner = owner;
  }

  write(handle: TcpHandle, chunk: Buffer): number {
    return (handle as NetHandle).write(chunk);
  }

  shutdown(handle: TcpHandle): number {
    return (handle as NetHandle).shutdown();
  }
}

class NetServer implements TcpServer {
  readonly transferable: Server;
  readonly #early: NetHandle[] = [];
  #onClient: (client: NetHandle) => void = (client) => this.#early.push(client);

  /** `server` listens, and may accept a client at any time. */
  constructor(server: Server) {
    this.transferable = server;
    server.on("connection", (socket) => this.#onClient(new NetHandle(socket)));
    // One client could not be accepted, as for lack of file descriptors; it has been closed.
    server.on("error", () => undefined);
  }

  get port(): number {
    const address = this.transferable.address();
    return address === null || typeof address === "string" ? 0 : address.port;
  }

  accept(onClient: (client: TcpHandle) => void): number {
    this.#onClient = onClient;
    for (const client of this.#early.splice(0)) onClient(client);
    return 0;
  }

  close(): void {
    for (const client of this.#early.splice(0)) client.close();
    this.transferable.close();
  }
}

/** Exported for tests. */
export class NetHandle implements TcpHandle {
  owner: TcpOwner | undefined;
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #isReading = false;
  #hasListener = false;
  #connected: ((status: number) => void) | undefined;
  /** Reported when it is read. */
  #hasEnded = false;
  /** An errno, reported by the next `readStart`. */
  #failure: number | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    // The server may have been sent by another process, without its options.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    this.setKeepAlive(true, KEEP_ALIVE_SECONDS);
    // A stream without bytes ends also when nobody reads it.
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#pump();
    });
    socket.on("drain", () => this.owner?.onWritten(0));
    socket.on("error", ({ errno = RESET }: NodeJS.ErrnoException) => this.#onError(errno));
    socket.on("close", () => this.#onConnected(CANCELLED));
  }

  get writeQueueSize(): number {
    return this.#socket.writableLength;
  }

  getpeername(into: SocketName): number {
    const { remoteAddress: address, remotePort: port } = this.#socket;
    if (address === undefined || port === undefined) return NOT_CONNECTED;
    Object.assign(into, { address, port });
    return 0;
  }

  getsockname(into: SocketName): number {
    const { localAddress: address, localPort: port } = this.#socket;
    if (address === undefined || port === undefined) return NOT_CONNECTED;
    Object.assign(into, { address, port });
    return 0;
  }

  setNoDelay(on: boolean): void {
    this.#socket.setNoDelay(on);
  }

  setKeepAlive(on: boolean, seconds: number): void {
    this.#socket.setKeepAlive(on, seconds * 1_000);
  }

  useUserBuffer(buffer: Buffer): void {
    this.#buffer = buffer;
  }

  readStart(): void {
    this.#isReading = true;
    if (!this.#hasListener) this.#socket.on("readable", () => this.#pump());
    this.#hasListener = true;
    queueMicrotask(() => this.#pump());
  }

  readStop(): void {
    this.#isReading = false;
  }

  reset(): void {
    this.#isReading = false;
    this.#socket.resetAndDestroy();
  }

  close(): void {
    this.#isReading = false;
    this.#socket.destroy();
  }

  connect(address: string, port: number, done: (status: number) => void): void {
    this.#connected = done;
    this.#socket.connect({ host: address, port }, () => this.#onConnected(0));
  }

  write(chunk: Buffer): number {
    // The memory of the chunk is used again at once, and a stream may hold it for longer.
    return this.#socket.write(Buffer.from(chunk)) ? WRITTEN : PENDING;
  }

  shutdown(): number {
    this.#socket.end(() => this.owner?.onShutdown());
    return 0;
  }

  /** Passes on what the stream holds, in parts of the size of the buffer. */
  #pump(): void {
    if (this.#failure !== undefined) return this.#fail(this.#failure);
    while (this.#isReading) {
      const { readableLength } = this.#socket;
      // Without a size it only asks for more: nothing is there.
      const chunk =
        readableLength === 0 ? this.#socket.read() : this.#socket.read(Math.min(readableLength, this.#buffer.length));
      if (chunk === null) return this.#reportEnd();
      (chunk as Buffer).copy(this.#buffer);
      const next = this.owner?.onRead((chunk as Buffer).length);
      if (next !== undefined) this.#buffer = next;
    }
  }

  #reportEnd(): void {
    if (!this.#hasEnded) return;
    this.#hasEnded = false;
    this.owner?.onRead(END_OF_FILE);
  }

  #onConnected(status: number): void {
    const done = this.#connected;
    this.#connected = undefined;
    done?.(status);
  }

  #onError(errno: number): void {
    if (this.#connected !== undefined) return this.#onConnected(errno);
    if (this.#isReading || this.#hasListener) this.#fail(errno);
    else this.#failure = errno;
  }

  #fail(errno: number): void {
    this.#failure = undefined;
    this.owner?.onRead(errno);
  }
}

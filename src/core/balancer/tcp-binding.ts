/**
 * TCP on the handles that `net.Socket` uses internally: without streams a connection takes half the time and a third of
 * the memory (docs/design/performance.md). The only place in procman that uses undocumented parts of Node. What is used
 * here has been the same since Node 12.
 */
import { isIPv6, Server } from "node:net";
import { getSystemErrorName } from "node:util";
import {
  BACKLOG,
  KEEP_ALIVE_SECONDS,
  PENDING,
  type SocketName,
  type Tcp,
  type TcpHandle,
  type TcpOwner,
  type TcpServer,
  WRITTEN,
} from "./tcp-handle.ts";

/** What Node's TCP class has besides. */
interface RawHandle extends TcpHandle {
  onread: (this: RawHandle) => Buffer | undefined;
  onconnection: (status: number, client: RawHandle) => void;
  bind(address: string, port: number): number;
  bind6(address: string, port: number, flags: number): number;
  listen(backlog: number): number;
  connect(request: ConnectRequest, address: string, port: number): number;
  writeBuffer(request: WriteRequest, chunk: Buffer): number;
  shutdown(request: ShutdownRequest): number;
  /** Set here. */
  owner?: TcpOwner;
}

interface ConnectRequest {
  oncomplete: (status: number) => void;
}

interface WriteRequest {
  oncomplete: (this: WriteRequest, status: number, handle: RawHandle) => void;
  /** Keeps the bytes alive until they are written. */
  chunk?: Buffer;
}

interface ShutdownRequest {
  oncomplete: (this: ShutdownRequest) => void;
  owner?: TcpOwner | undefined;
}

type TcpWrap = {
  readonly TCP: new (kind: number) => RawHandle;
  readonly TCPConnectWrap: new () => ConnectRequest;
  readonly constants: { readonly SOCKET: number; readonly SERVER: number };
};

type StreamWrap = {
  readonly WriteWrap: new () => WriteRequest;
  readonly ShutdownWrap: new () => ShutdownRequest;
  readonly streamBaseState: Int32Array;
  readonly kReadBytesOrError: number;
  readonly kLastWriteWasAsync: number;
};

/** @throws Error where Node doesn't allow it: under the permission model, or once it is removed (DEP0111) */
export function loadBinding(): Tcp {
  const { binding } = process as unknown as { readonly binding: (name: string) => unknown };
  const { noDeprecation } = process;
  // With --pending-deprecation --throw-deprecation the warning would end the process.
  process.noDeprecation = true;
  try {
    return new BindingTcp(binding("tcp_wrap") as TcpWrap, binding("stream_wrap") as StreamWrap);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`process.binding can't be used (${code ?? message})`, { cause: error });
  } finally {
    process.noDeprecation = noDeprecation as boolean;
  }
}

class BindingTcp implements Tcp {
  readonly name = "binding";
  readonly canMigrate = true;
  readonly #tcp: TcpWrap;
  readonly #stream: StreamWrap;
  readonly #state: Int32Array;
  readonly #lastWriteWasAsync: number;
  readonly #onRead: RawHandle["onread"];
  /** One request object serves all writes that the kernel takes at once. */
  #spare: WriteRequest;

  constructor(tcp: TcpWrap, stream: StreamWrap) {
    this.#tcp = tcp;
    this.#stream = stream;
    this.#state = stream.streamBaseState;
    this.#lastWriteWasAsync = stream.kLastWriteWasAsync;
    const { streamBaseState, kReadBytesOrError } = stream;
    this.#onRead = function onRead(this: RawHandle) {
      return this.owner?.onRead(streamBaseState[kReadBytesOrError] as number);
    };
    this.#spare = this.#newRequest();
  }

  async bind(address: string, port: number): Promise<TcpServer> {
    const handle = new this.#tcp.TCP(this.#tcp.constants.SERVER);
    const status = isIPv6(address) ? handle.bind6(address, port, 0) : handle.bind(address, port);
    if (status === 0) return new BindingServer(handle);
    handle.close();
    const code = getSystemErrorName(status);
    throw Object.assign(new Error(code), { code });
  }

  receive(transferable: unknown): TcpServer {
    // A predecessor on `node:net` sends a server, and that listens already.
    const isServer = transferable instanceof Server;
    const handle = isServer
      ? (transferable as unknown as { readonly _handle: RawHandle })._handle
      : (transferable as RawHandle);
    return new BindingServer(handle);
  }

  newSocket(): TcpHandle {
    return new this.#tcp.TCP(this.#tcp.constants.SOCKET);
  }

  connect(handle: TcpHandle, address: string, port: number, done: (status: number) => void): void {
    const request = new this.#tcp.TCPConnectWrap();
    request.oncomplete = done;
    const status = (handle as RawHandle).connect(request, address, port);
    if (status < 0) process.nextTick(done, status);
  }

  setOwner(handle: TcpHandle, owner: TcpOwner): void {
    const raw = handle as RawHandle;
    raw.owner = owner;
    raw.onread = this.#onRead;
  }

  write(handle: TcpHandle, chunk: Buffer): number {
    const request = this.#spare;
    const status = (handle as RawHandle).writeBuffer(request, chunk);
    if (status < 0) return status;
    if (this.#state[this.#lastWriteWasAsync] === 0) return WRITTEN;
    request.chunk = chunk;
    this.#spare = this.#newRequest();
    return PENDING;
  }

  shutdown(handle: TcpHandle): number {
    const request = new this.#stream.ShutdownWrap();
    request.oncomplete = onShutdown;
    request.owner = (handle as RawHandle).owner;
    return (handle as RawHandle).shutdown(request);
  }

  #newRequest(): WriteRequest {
    const request = new this.#stream.WriteWrap();
    request.oncomplete = onWritten;
    return request;
  }
}

class BindingServer implements TcpServer {
  readonly transferable: RawHandle;
  readonly #early: RawHandle[] = [];

  constructor(handle: RawHandle) {
    this.transferable = handle;
    handle.onconnection = (status, client) => {
      if (status === 0) this.#early.push(client);
    };
  }

  get port(): number {
    const own: SocketName = {};
    this.transferable.getsockname(own);
    return own.port ?? 0;
  }

  accept(onClient: (client: TcpHandle) => void): number {
    this.transferable.onconnection = (status, client) => {
      if (status === 0) onClient(client);
    };
    const status = this.transferable.listen(BACKLOG);
    if (status !== 0) return status;
    // On Linux accepted sockets inherit both.
    this.transferable.setNoDelay(true);
    this.transferable.setKeepAlive(true, KEEP_ALIVE_SECONDS);
    for (const client of this.#early.splice(0)) onClient(client);
    return 0;
  }

  close(): void {
    for (const client of this.#early.splice(0)) client.close();
    this.transferable.close();
  }
}

function onWritten(this: WriteRequest, status: number, handle: RawHandle): void {
  handle.owner?.onWritten(status);
}

function onShutdown(this: ShutdownRequest): void {
  this.owner?.onShutdown();
}

/**
 * TCP handles as `net.Socket` itself uses them. A balancer only moves bytes: without the streams on top a connection
 * costs half the time and a third of the memory. What is used here has been the same since Node 12; tests run with 20, 22, 24 and 26.
 */

/** One TCP socket of the event loop. Numbers returned are 0 or a negative errno. */
export interface Handle {
  /** Called with the count in `readCount`; a buffer that it returns is read into from then on. */
  onread: (this: Handle) => Buffer | undefined;
  onconnection: (status: number, client: Handle) => void;
  readonly fd: number;
  readonly writeQueueSize: number;
  bind(address: string, port: number): number;
  bind6(address: string, port: number, flags: number): number;
  listen(backlog: number): number;
  connect(request: ConnectRequest, address: string, port: number): number;
  getpeername(into: { address?: string; port?: number; family?: string }): number;
  getsockname(into: { address?: string; port?: number; family?: string }): number;
  setNoDelay(on: boolean): number;
  useUserBuffer(buffer: Buffer): void;
  readStart(): number;
  readStop(): number;
  writeBuffer(request: WriteRequest, chunk: Buffer): number;
  shutdown(request: ShutdownRequest): number;
  /** Closes with a RST. */
  reset(): number;
  close(): void;
  /** Whose it is. */
  owner?: unknown;
}

export interface ConnectRequest {
  oncomplete: (this: ConnectRequest, status: number) => void;
  owner?: unknown;
}

export interface WriteRequest {
  oncomplete: (this: WriteRequest, status: number, handle: Handle) => void;
  /** Keeps the bytes alive until they are written. */
  chunk?: Buffer;
}

export interface ShutdownRequest {
  oncomplete: (this: ShutdownRequest, status: number) => void;
  owner?: unknown;
}

type TcpWrap = {
  readonly TCP: new (kind: number) => Handle;
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

type Binding = (name: string) => unknown;

const binding = (process as unknown as { readonly binding: Binding }).binding;
const { TCP, TCPConnectWrap, constants } = binding("tcp_wrap") as TcpWrap;
const { WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError, kLastWriteWasAsync } = binding("stream_wrap") as StreamWrap;

export const END_OF_FILE = -4095;
/** As connect(2) has it where nobody listens. */
export const REFUSED = -111;
/** From here on the kernel gives ports to clients: ip(7), ip_local_port_range. */
const CLIENT_PORTS = 32_768;

export function newSocket(): Handle {
  return new TCP(constants.SOCKET);
}

export function newServer(): Handle {
  return new TCP(constants.SERVER);
}

export function connectRequest(): ConnectRequest {
  return new TCPConnectWrap();
}

export function writeRequest(): WriteRequest {
  return new WriteWrap();
}

export function shutdownRequest(): ShutdownRequest {
  return new ShutdownWrap();
}

/**
 * TCP lets a socket connect to itself (RFC 9293, 3.5: simultaneous open): where nobody listens on a port that the kernel gives to
 * clients, one attempt of 28 000 is given that very port, and succeeds.
 */
export function isToItself(socket: Handle, port: number): boolean {
  const own: { port?: number } = {};
  return port >= CLIENT_PORTS && socket.getsockname(own) === 0 && own.port === port;
}

/** In `onread`: how many bytes were read, or a negative errno. */
export function readCount(): number {
  return streamBaseState[kReadBytesOrError] as number;
}

/** After `writeBuffer`: the kernel has not taken all of it yet. */
export function isWriting(): boolean {
  return streamBaseState[kLastWriteWasAsync] !== 0;
}

/**
 * TCP as the balancer uses it. Two implementations pass the same tests: `tcp-binding`, on the handles that `net.Socket`
 * uses internally (undocumented), and `tcp-net`, on `node:net`. `tcp-choice` decides between them when the balancer
 * starts.
 */

/** One connection. Numbers returned are 0 or a negative errno. */
export interface TcpHandle {
  /** Bytes that the kernel has not taken yet. */
  readonly writeQueueSize: number;
  getpeername(into: SocketName): number;
  getsockname(into: SocketName): number;
  setNoDelay(on: boolean): void;
  /** Asks a peer that has sent nothing for so long whether it is still there. Seconds. */
  setKeepAlive(on: boolean, seconds: number): void;
  /** The buffer to read into. */
  useUserBuffer(buffer: Buffer): void;
  readStart(): void;
  readStop(): void;
  /** Closes with a RST. */
  reset(): void;
  close(): void;
}

export type SocketName = { address?: string; port?: number };

/** Gets the events of a handle. */
export interface TcpOwner {
  /** `count` bytes are in the buffer; or `END_OF_FILE`, or a negative errno. A buffer that it returns is read into from then on. */
  onRead(count: number): Buffer | undefined;
  /** After a write that was `PENDING`. */
  onWritten(status: number): void;
  /** After `shutdown`. */
  onShutdown(): void;
}

/** A listening socket. */
export interface TcpServer {
  /** To send to another process with `process.send`. */
  readonly transferable: unknown;
  readonly port: number;
  /** Gets the clients from now on; those that came before wait until then. Returns 0 or a negative errno. */
  accept(onClient: (client: TcpHandle) => void): number;
  close(): void;
}

export interface Tcp {
  readonly name: "binding" | "net";
  /** Open connections can be sent to another process with `process.send`. */
  readonly canMigrate: boolean;
  /** Binds a listening socket. Rejects with an error that has a `code`. */
  bind(address: string, port: number): Promise<TcpServer>;
  /** A listening socket that was sent by another process, of either implementation. */
  receive(transferable: unknown): TcpServer;
  newSocket(): TcpHandle;
  /** `done` is called later, also when the handle is closed before. */
  connect(handle: TcpHandle, address: string, port: number, done: (status: number) => void): void;
  setOwner(handle: TcpHandle, owner: TcpOwner): void;
  /** `WRITTEN`, `PENDING` or a negative errno. When `PENDING`, the chunk must stay as it is until `onWritten`. */
  write(handle: TcpHandle, chunk: Buffer): number;
  /** Ends the stream after what was written. Returns 0 or a negative errno. */
  shutdown(handle: TcpHandle): number;
}

export const WRITTEN = 0;
export const PENDING = 1;
export const END_OF_FILE = -4095;
/** ECONNREFUSED. */
export const REFUSED = -111;
/** A client that has vanished (power, network) is noticed about 10 s after this time. Seconds. */
export const KEEP_ALIVE_SECONDS = 60;
export const BACKLOG = 4_096;
/** First port that the kernel gives to clients (ip(7), ip_local_port_range). */
const CLIENT_PORTS = 32_768;

/**
 * TCP lets a socket connect to itself (RFC 9293, 3.5: simultaneous open): where no socket listens on a port that the
 * kernel gives to clients, one attempt in 28 000 is given that very port, and succeeds.
 */
export function isToItself(socket: TcpHandle, port: number): boolean {
  const own: SocketName = {};
  return port >= CLIENT_PORTS && socket.getsockname(own) === 0 && own.port === port;
}

/** A client and its backend: bytes, end of stream and reset of each are passed to the other. */
import { copyOfShared, discard, giveBack, keepCopy, SMALL_BYTES, shared, takeLarge } from "./buffer-pool.ts";
import { END_OF_FILE, PENDING, type Tcp, type TcpHandle, type TcpOwner } from "./tcp-handle.ts";

/** After more writes to the backend than one request with its body takes, the connection is expected to last. */
const REQUESTS = 4;
/**
 * How long a connection that is broken in one direction may stay without traffic in the other. Without the balancer a
 * client that still sends would have no time to read an early answer. Milliseconds.
 */
const LINGER_MS = 500;
/** EPIPE: a side that has ended its stream takes no more bytes; any other error of a write is a reset. */
const ENDED = -32;

/** The counters of a backend. */
export type Traffic = { bytesIn: number; bytesOut: number };

export type SocketPair = { readonly client: TcpHandle; readonly backend: TcpHandle };

export class ProxiedConnection {
  readonly #client: SocketEndpoint;
  readonly #backend: SocketEndpoint;
  readonly #traffic: Traffic;
  readonly #onClose: (connection: ProxiedConnection) => void;
  #closed = false;
  #bytes = 0;
  /** `#bytes` when the last check found it changed, and the time of that check. */
  #checkedBytes = -1;
  #movedAt = performance.now();
  /** Long-lived, with traffic since the last check. */
  isBusy = false;
  /** A write to one side has failed: the other side is given what that one had sent before. */
  #isHalfBroken = false;

  constructor(
    tcp: Tcp,
    { client, backend }: SocketPair,
    traffic: Traffic,
    onClose: (connection: ProxiedConnection) => void,
  ) {
    this.#client = new SocketEndpoint(tcp, this, client);
    this.#backend = new SocketEndpoint(tcp, this, backend);
    this.#client.other = this.#backend;
    this.#backend.other = this.#client;
    this.#traffic = traffic;
    this.#onClose = onClose;
  }

  /** `head` is sent to the backend before the client's bytes. */
  begin(head?: Buffer): void {
    if (head !== undefined) this.#backend.write(head);
    if (!this.#closed) this.#client.begin();
    if (!this.#closed) this.#backend.begin();
  }

  isClient(side: SocketEndpoint): boolean {
    return side === this.#client;
  }

  count(from: SocketEndpoint, bytes: number): void {
    this.#bytes += bytes;
    if (from === this.#client) this.#traffic.bytesIn += bytes;
    else this.#traffic.bytesOut += bytes;
  }

  /** Without traffic since the last check, large buffers are given back; after `idleMs` without traffic (0: never) the connection is closed. */
  check(now: number, idleMs: number): void {
    const limit = this.#isHalfBroken ? LINGER_MS : idleMs;
    this.isBusy =
      !this.#isHalfBroken && this.#bytes !== this.#checkedBytes && (this.#checkedBytes >= 0 || this.#backend.isReused);
    if (this.#bytes !== this.#checkedBytes) {
      this.#checkedBytes = this.#bytes;
      this.#movedAt = now;
    } else if (limit > 0 && now - this.#movedAt > limit) this.close(this.#isHalfBroken);
    else if (this.#client.isLost || this.#backend.isLost) this.close(true);
    else {
      this.#client.releaseBuffer();
      this.#backend.releaseBuffer();
    }
  }

  /** Stops reading until `resume`, and returns both sockets; undefined while bytes are in transit between them. */
  pause(): SocketPair | undefined {
    if (this.#closed || !this.#client.isQuiet || !this.#backend.isQuiet) return undefined;
    return { client: this.#client.pause(), backend: this.#backend.pause() };
  }

  resume(): void {
    if (this.#closed) return;
    this.#client.begin();
    this.#backend.begin();
  }

  /** A write to this side failed. An early answer of it to what the other side still sends may not be read yet. */
  onWriteFailed(side: SocketEndpoint, status: number): void {
    if (this.#closed) return;
    if (this.#isHalfBroken || side.hasEnded) return this.close(true);
    this.#isHalfBroken = true;
    this.#movedAt = performance.now();
    side.refuse(status === ENDED);
    side.other.withhold();
  }

  /** `isBroken`: a side that is still open gets a reset. */
  close(isBroken: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#client.close(isBroken);
    this.#backend.close(isBroken);
    this.#onClose(this);
  }
}

class SocketEndpoint implements TcpOwner {
  readonly #tcp: Tcp;
  readonly #connection: ProxiedConnection;
  readonly handle: TcpHandle;
  other!: SocketEndpoint;
  #large: Buffer | undefined;
  #writes = 0;
  /** Not read, because the other side has not taken the last bytes yet. */
  #isPaused = false;
  /** This side has sent its end of stream. */
  hasEnded = false;
  /** This side has sent bytes. */
  #hasSent = false;
  #isShutting = false;
  /** Writes to it fail. `orderly`: it had ended its stream before. */
  #refuses: "orderly" | "reset" | undefined;
  /** What it sends is read and dropped. */
  #isWithheld = false;

  constructor(tcp: Tcp, connection: ProxiedConnection, handle: TcpHandle) {
    this.#tcp = tcp;
    this.#connection = connection;
    this.handle = handle;
    tcp.setOwner(handle, this);
  }

  /** Probably more than one request was written to it. */
  get isReused(): boolean {
    return this.#writes > REQUESTS;
  }

  /** All bytes read from it were passed on, and both directions are open. */
  get isQuiet(): boolean {
    return !this.#isPaused && !this.hasEnded && !this.#isShutting && this.handle.writeQueueSize === 0;
  }

  /** Whether a connection that isn't read at present was reset: this is noticed only here. */
  get isLost(): boolean {
    return (this.#isPaused || this.hasEnded) && this.#refuses === undefined && this.handle.getpeername({}) < 0;
  }

  pause(): TcpHandle {
    this.releaseBuffer();
    this.handle.readStop();
    return this.handle;
  }

  begin(): void {
    this.handle.useUserBuffer(shared);
    this.handle.readStart();
  }

  onRead(count: number): Buffer | undefined {
    if (count === 0) return undefined;
    if (count < 0) this.#onEnd(count === END_OF_FILE);
    else if (!this.#isWithheld) return this.#pass(count);
    return undefined;
  }

  /** Nothing is written to it any more. What it had sent is read to its end. */
  refuse(isOrderly: boolean): void {
    this.#refuses = isOrderly ? "orderly" : "reset";
  }

  /** What it sends goes nowhere: dropped if it is the client, who reads the answer only when its request is gone; else not read. */
  withhold(): void {
    this.#isWithheld = true;
    if (this.#connection.isClient(this)) this.resume();
    else this.handle.readStop();
  }

  /** As `Tcp.write`; when that fails, the connection is closed. */
  write(chunk: Buffer): number {
    // From the second write on: Nagle's algorithm never delays the first, and connections with one write save the call.
    if (++this.#writes === 2) this.handle.setNoDelay(true);
    const status = this.#tcp.write(this.handle, chunk);
    if (status < 0) this.#connection.onWriteFailed(this, status);
    return status;
  }

  /** The other side has taken all bytes: reading continues. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isWithheld && !this.#connection.isClient(this)) return;
    this.handle.readStart();
  }

  onWritten(status: number): void {
    if (status < 0) this.#connection.onWriteFailed(this, status);
    else this.other.resume();
  }

  onShutdown(): void {
    this.#isShutting = false;
    if (this.hasEnded && this.other.hasEnded && !this.other.#isShutting) this.#connection.close(false);
  }

  releaseBuffer(): void {
    if (this.#large === undefined || this.#isPaused) return;
    this.handle.useUserBuffer(shared);
    giveBack(this.#large);
    this.#large = undefined;
  }

  close(isBroken: boolean): void {
    // While paused, the kernel may still be taking bytes out of the buffer.
    if (this.#large !== undefined) (this.#isPaused ? discard : giveBack)(this.#large);
    this.#large = undefined;
    if (isBroken && !this.#isShutting) this.handle.reset();
    else this.handle.close();
  }

  #pass(count: number): Buffer | undefined {
    const { other } = this;
    const large = this.#large;
    this.#hasSent = true;
    this.#connection.count(this, count);
    const chunk = large === undefined ? copyOfShared(count) : large.subarray(0, count);
    const status = other.write(chunk);
    if (status < 0) return undefined;
    if (status === PENDING) {
      this.#isPaused = true;
      this.handle.readStop();
      if (large === undefined) keepCopy(count);
    }
    if (large !== undefined || count < SMALL_BYTES) return undefined;
    this.#large = takeLarge();
    return this.#large;
  }

  #onEnd(isOrderly: boolean): void {
    if (this.#refuses !== undefined) this.#endRefusing();
    else if (isOrderly) this.#end();
    else this.#connection.close(true);
  }

  /**
   * All that it had sent was passed on. After a reset the other side gets no end of stream, which would look like a
   * complete answer. A client gets the reset at once if there is no answer that it may still be reading.
   */
  #endRefusing(): void {
    this.hasEnded = true;
    this.handle.readStop();
    const { other } = this;
    const isOver = other.hasEnded || (this.#refuses === "reset" && (this.#connection.isClient(this) || !this.#hasSent));
    if (isOver && other.handle.writeQueueSize === 0) return this.#connection.close(this.#refuses === "reset");
    if (this.#refuses === "orderly") this.other.#shut();
  }

  #end(): void {
    this.hasEnded = true;
    const { other } = this;
    if (other.#refuses !== undefined) {
      if (other.hasEnded && !this.#isShutting && this.handle.writeQueueSize === 0) this.#connection.close(false);
      return;
    }
    if (other.hasEnded && other.handle.writeQueueSize === 0 && !this.#isShutting) return this.#connection.close(false);
    other.#shut();
  }

  #shut(): void {
    this.#isShutting = true;
    if (this.#tcp.shutdown(this.handle) >= 0) return;
    this.#isShutting = false;
    this.#connection.close(true);
  }
}

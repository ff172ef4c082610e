/** A client and its backend: bytes, ends and resets of each go to the other. */
import { copyOfShared, forget, giveBack, keepCopy, SMALL_BYTES, shared, takeLarge } from "./buffers.ts";
import {
  END_OF_FILE,
  type Handle,
  isWriting,
  readCount,
  type ShutdownRequest,
  shutdownRequest,
  type WriteRequest,
  writeRequest,
} from "./sockets.ts";

/** Who has written more often to a backend than a request and its body take will go on. */
const REQUESTS = 4;

/** Whose bytes are counted. */
export type Traffic = { bytesIn: number; bytesOut: number };

export type Sockets = { readonly client: Handle; readonly backend: Handle };

export class Pair {
  readonly #client: End;
  readonly #backend: End;
  readonly #traffic: Traffic;
  readonly #onClose: (pair: Pair) => void;
  #closed = false;
  #bytes = 0;
  /** Bytes at the last look at which they were more than before, and when that was. */
  #seen = -1;
  #movedAt = performance.now();
  /** It lasts, and something has flowed since the last look. */
  isBusy = false;

  constructor(client: Handle, backend: Handle, traffic: Traffic, onClose: (pair: Pair) => void) {
    this.#client = new End(this, client);
    this.#backend = new End(this, backend);
    this.#client.other = this.#backend;
    this.#backend.other = this.#client;
    this.#traffic = traffic;
    this.#onClose = onClose;
  }

  /** `head`: what the backend gets before anything of the client. */
  begin(head?: Buffer): void {
    if (head !== undefined && !this.#backend.write(head)) return;
    this.#client.begin();
    if (!this.#closed) this.#backend.begin();
  }

  count(end: End, bytes: number): void {
    this.#bytes += bytes;
    if (end === this.#client) this.#traffic.bytesIn += bytes;
    else this.#traffic.bytesOut += bytes;
  }

  /** Called now and then. While nothing flows large buffers go back; who is idle for `idleMs` is closed (0: never). */
  look(now: number, idleMs: number): void {
    this.isBusy = this.#bytes !== this.#seen && (this.#seen >= 0 || this.#backend.isReused);
    if (this.#bytes !== this.#seen) {
      this.#seen = this.#bytes;
      this.#movedAt = now;
    } else if (idleMs > 0 && now - this.#movedAt > idleMs) this.close(false);
    else {
      this.#client.rest();
      this.#backend.rest();
    }
  }

  /** Both sockets, from which nothing is read until `resume`; undefined: something is under way between them. */
  pause(): Sockets | undefined {
    if (this.#closed || !this.#client.isQuiet || !this.#backend.isQuiet) return undefined;
    return { client: this.#client.pause(), backend: this.#backend.pause() };
  }

  resume(): void {
    if (this.#closed) return;
    this.#client.begin();
    this.#backend.begin();
  }

  /** `isBroken`: whoever is still there is told by a reset. */
  close(isBroken: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#client.close(isBroken);
    this.#backend.close(isBroken);
    this.#onClose(this);
  }
}

/** One request serves all writes that the kernel takes at once. */
let spare = newRequest();

function newRequest(): WriteRequest {
  const request = writeRequest();
  request.oncomplete = onWritten;
  return request;
}

class End {
  readonly #pair: Pair;
  readonly handle: Handle;
  other!: End;
  #large: Buffer | undefined;
  #writes = 0;
  #isPaused = false;
  /** Nothing more comes from here. */
  #hasEnded = false;
  #isShutting = false;

  constructor(pair: Pair, handle: Handle) {
    this.#pair = pair;
    this.handle = handle;
    handle.owner = this;
  }

  /** More than one request has gone there, most likely. */
  get isReused(): boolean {
    return this.#writes > REQUESTS;
  }

  /** All that came from here was passed on, and more may come. */
  get isQuiet(): boolean {
    return !this.#isPaused && !this.#hasEnded && !this.#isShutting && this.handle.writeQueueSize === 0;
  }

  pause(): Handle {
    this.rest();
    this.handle.readStop();
    return this.handle;
  }

  begin(): void {
    this.handle.onread = onRead;
    this.handle.useUserBuffer(shared);
    this.handle.readStart();
  }

  /** A buffer to read into from now on, if it shall be another one. */
  read(count: number): Buffer | undefined {
    if (count === 0) return undefined;
    if (count === END_OF_FILE) this.#end();
    else if (count < 0) this.#pair.close(true);
    else return this.#pass(count);
    return undefined;
  }

  /** False: the connection is broken. */
  write(chunk: Buffer): boolean {
    // One that sends but once does without the call: Nagle delays only what follows.
    if (++this.#writes === 2) this.handle.setNoDelay(true);
    const request = spare;
    if (this.handle.writeBuffer(request, chunk) < 0) {
      this.#pair.close(true);
      return false;
    }
    if (!isWriting()) return true;
    request.chunk = chunk;
    spare = newRequest();
    return true;
  }

  /** What was written to the other has been taken: on with the next. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.handle.readStart();
  }

  written(status: number): void {
    if (status < 0) this.#pair.close(true);
    else this.other.resume();
  }

  shutDone(): void {
    this.#isShutting = false;
    if (this.#hasEnded && this.other.#hasEnded && !this.other.#isShutting) this.#pair.close(false);
  }

  rest(): void {
    if (this.#large === undefined || this.#isPaused) return;
    this.handle.useUserBuffer(shared);
    giveBack(this.#large);
    this.#large = undefined;
  }

  close(isBroken: boolean): void {
    // The kernel may still be taking bytes out of the buffer of one whose reader is paused.
    if (this.#large !== undefined) (this.#isPaused ? forget : giveBack)(this.#large);
    this.#large = undefined;
    if (isBroken && !this.#isShutting) this.handle.reset();
    else this.handle.close();
  }

  #pass(count: number): Buffer | undefined {
    const { other } = this;
    const large = this.#large;
    this.#pair.count(this, count);
    const chunk = large === undefined ? copyOfShared(count) : large.subarray(0, count);
    if (!other.write(chunk)) return undefined;
    if (isWriting()) {
      this.#isPaused = true;
      this.handle.readStop();
      if (large === undefined) keepCopy(count);
    }
    if (large !== undefined || count < SMALL_BYTES) return undefined;
    this.#large = takeLarge();
    return this.#large;
  }

  #end(): void {
    this.#hasEnded = true;
    const { other } = this;
    if (other.#hasEnded && other.handle.writeQueueSize === 0 && !this.#isShutting) return this.#pair.close(false);
    other.#shut();
  }

  #shut(): void {
    const request = shutdownRequest();
    request.oncomplete = onShut;
    request.owner = this;
    this.#isShutting = true;
    if (this.handle.shutdown(request) >= 0) return;
    this.#isShutting = false;
    this.#pair.close(true);
  }
}

function onRead(this: Handle): Buffer | undefined {
  return (this.owner as End).read(readCount());
}

function onWritten(this: WriteRequest, status: number, handle: Handle): void {
  (handle.owner as End).written(status);
}

function onShut(this: ShutdownRequest): void {
  (this.owner as End).shutDone();
}

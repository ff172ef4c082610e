/** Reads one FIFO that a child writes to. All FIFOs share one buffer for the data. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import type { OnReadOpts, SocketConstructorOpts } from "node:net";
import { Socket } from "node:net";
import { errnoOf } from "../base/errors.ts";
import { HEAD_ROOM } from "./line-splitter.ts";

const CHUNK_BYTES = 64 * 1024;
const OPEN_AGAIN_MS = 1000;
/** Reads in a row while checking for the end; then other events are handled. */
const READS_PER_TURN = 16;
/** More than a pipe can hold: `drain` stops here even if a process keeps writing. */
const READS_PER_DRAIN = 64;

/** [room for a carried partial line | data that was read] */
const area = Buffer.allocUnsafeSlow(HEAD_ROOM + CHUNK_BYTES);

export type FifoReaderEvents = {
  /** `bytes` bytes are at `HEAD_ROOM` of `area`, valid until this returns. */
  readonly chunk: (area: Buffer, bytes: number) => void;
  /** All writers have closed the FIFO and all data was passed on. Called once. */
  readonly end: () => void;
  readonly failed: (error: unknown) => void;
  /** Its open descriptor; undefined: it is opened by its path. */
  readonly fd?: number | undefined;
};

/** Bytes read, 0 at the end, -1 if there is no data at the moment. */
function readNow(fd: number): number {
  try {
    return readSync(fd, area, HEAD_ROOM, CHUNK_BYTES, null);
  } catch (error) {
    if (errnoOf(error) === "EAGAIN") return -1;
    throw error;
  }
}

export class FifoReader {
  /** Paths of the FIFO, tried in order. */
  #paths: readonly string[];
  readonly #events: FifoReaderEvents;
  #fd = -1;
  #given: number | undefined;
  #socket: Socket | undefined;
  #openAgain: NodeJS.Timeout | undefined;
  #paused = false;
  #checking = false;
  #done = false;

  constructor(paths: readonly string[], events: FifoReaderEvents) {
    this.#paths = paths;
    this.#events = events;
    this.#given = events.fd;
  }

  open(): void {
    try {
      this.#fd = this.#given ?? openSync(this.#paths[0] ?? "", constants.O_RDONLY | constants.O_NONBLOCK);
      this.#given = undefined;
      this.#socket = this.#listen(this.#fd);
    } catch (error) {
      if (["ENOENT", "EACCES"].includes(errnoOf(error)) && this.#paths.length > 1) {
        this.#paths = this.#paths.slice(1);
        return this.open();
      }
      if (!this.#openAgain) this.#events.failed(error);
      if (errnoOf(error) === "ENOENT") this.#finish();
      else this.#openAgain = setTimeout(() => this.open(), OPEN_AGAIN_MS);
      return;
    }
    if (this.#paused) this.#socket.pause();
    else if (this.#checking) this.#readOn();
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket?.resume();
    // Not immediately: the caller may be processing a chunk, which is in the shared buffer.
    if (this.#checking) setImmediate(() => this.#readOn());
  }

  /**
   * The run has ended: from now on the end is also detected by reading. Linux doesn't report the hang-up of a FIFO that
   * was opened after its last writer had closed it (as by a restarted logger), but a read returns 0. If a grandchild
   * still writes, the end is reported by an event.
   */
  check(): void {
    this.#checking = true;
    this.#readOn();
  }

  /** Reads everything available, paused or not, and closes. */
  drain(): void {
    for (let reads = 0; !this.#done && this.#socket && reads < READS_PER_DRAIN; reads += 1) {
      if (this.#read() <= 0) break;
    }
    this.#finish();
  }

  #listen(fd: number): Socket {
    const callback = (bytes: number): boolean => {
      this.#events.chunk(area, bytes);
      return true;
    };
    const onread = { buffer: area.subarray(HEAD_ROOM), callback };
    const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: false,
      onread,
    };
    // From here on the socket owns the descriptor and closes it; only if its construction fails, this function does.
    try {
      const socket = new Socket(options);
      socket.on("error", (error) => {
        this.#events.failed(error);
        this.#finish();
      });
      socket.on("end", () => this.#finish());
      return socket;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #readOn(): void {
    for (let reads = 0; reads < READS_PER_TURN; reads += 1) {
      if (this.#done || this.#paused || !this.#socket || this.#read() < 0) return;
    }
    setImmediate(() => this.#readOn());
  }

  #read(): number {
    try {
      const bytes = readNow(this.#fd);
      if (bytes > 0) this.#events.chunk(area, bytes);
      else if (bytes === 0) this.#finish();
      return bytes;
    } catch (error) {
      this.#events.failed(error);
      this.#finish();
      return 0;
    }
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#openAgain);
    this.#socket?.destroy();
    this.#events.end();
  }
}

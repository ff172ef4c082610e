/**
 * Counts the connections of the server that accepts from the cluster's shared socket, and writes that into a file (a
 * descriptor from procman): nobody else sees them, and without any the cluster is to sleep.
 */
import { fstatSync, type Stats, writeSync } from "node:fs";
import type { Server, Socket } from "node:net";

/** At most one write in this time. Milliseconds. */
const WRITE_MS = 1_000;
/** So long is the line: a shorter one would leave the end of that before. */
const LINE_BYTES = 64;

class ClientCount {
  readonly #fd: number;
  readonly #file: Stats;
  #open = 0;
  #first = 0;
  #last = now();
  #timer: NodeJS.Timeout | undefined;
  #isChanged = false;
  #onNone = (): void => undefined;

  constructor(fd: number, file: Stats) {
    this.#fd = fd;
    this.#file = file;
  }

  /** Call before it listens. */
  watch(server: Server): void {
    // Under node:cluster the server gives its socket away when it listens, and sees no connection.
    server.once("listening", () => setImmediate(() => server.listening && this.#changed()));
    server.on("connection", (socket: Socket) => {
      this.#open += 1;
      this.#first ||= now();
      socket.once("close", () => {
        this.#open -= 1;
        this.#changed();
        if (this.#open === 0) this.#onNone();
      });
      this.#changed();
    });
  }

  /** Resolves when no connection is open. */
  get ended(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#open === 0) resolve();
    });
  }

  #changed(): void {
    this.#last = now();
    this.#isChanged = true;
    if (this.#timer === undefined) this.#write();
  }

  #write(): void {
    this.#timer = undefined;
    if (!this.#isChanged) return;
    const line = `${this.#open} ${this.#first} ${this.#last}`;
    try {
      // The program may have closed it, and opened another file in its place.
      const { dev, ino } = fstatSync(this.#fd);
      if (dev !== this.#file.dev || ino !== this.#file.ino) return;
      writeSync(this.#fd, `${line.padEnd(LINE_BYTES - 1)}\n`, 0);
      this.#isChanged = false;
    } catch {
      // The disk is full: it is tried again. The program must not notice; even if it is stopped too early, it serves those who have come.
    }
    this.#timer = setTimeout(() => this.#write(), WRITE_MS).unref();
  }
}

/** undefined: procman has passed no such file, or a program between it and this one has closed it. */
export function clientCount(fd: number): ClientCount | undefined {
  try {
    const file = fstatSync(fd);
    return file.isFile() ? new ClientCount(fd, file) : undefined;
  } catch {
    return undefined;
  }
}

/** The clock of all processes, in whole milliseconds. */
function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + Math.floor(nanoseconds / 1e6);
}

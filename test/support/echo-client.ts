/** A client of an echo server that sends without a pause. */
import type { Socket } from "node:net";
import { eventually } from "./procman-process.ts";

/** Sends a message, waits for its complete echo, and repeats that. */
export class EchoClient {
  readonly #socket: Socket;
  #awaited = Buffer.alloc(0);
  #isOver = false;
  rounds = 0;
  bytes = 0;
  /** A wrong answer, or an unexpected end. */
  problem: string | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("end", () => this.#fail("ended"));
    socket.on("error", (error) => this.#fail(error.message));
    this.#ask();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await eventually(() => (this.#awaited.length === 0 || this.problem !== undefined ? true : undefined));
    const closed = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#socket.end();
    await closed;
  }

  #ask(): void {
    this.rounds += 1;
    this.#awaited = Buffer.from(`${this.rounds} ${"x".repeat(this.rounds % 2_000)}\n`);
    this.bytes += this.#awaited.length;
    this.#socket.write(this.#awaited);
  }

  #take(chunk: Buffer): void {
    if (!this.#awaited.subarray(0, chunk.length).equals(chunk)) this.#fail(`${chunk} in place of ${this.#awaited}`);
    this.#awaited = this.#awaited.subarray(chunk.length);
    if (this.#awaited.length === 0 && !this.#isOver) this.#ask();
  }

  #fail(problem: string): void {
    if (!this.#isOver) this.problem ??= problem;
  }
}

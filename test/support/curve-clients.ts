/** As many clients as a curve says: each connects, is answered, and keeps its connection until there are to be fewer. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 100;
const REQUEST = "GET / HTTP/1.1\r\nHost: curve\r\n\r\n";

export class CurveClients {
  readonly #port: number;
  readonly #clients: Client[] = [];
  /** Clients that were not answered, and why. */
  readonly failures: string[] = [];
  served = 0;
  /** Of those that were answered: the sum and the longest. Milliseconds. */
  waitedMs = 0;
  longestMs = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** `at`: number of clients after this time. */
  async follow(at: (ms: number) => number, forMs: number): Promise<void> {
    const began = performance.now();
    for (let ms = 0; ms < forMs; ms = performance.now() - began) {
      this.#become(Math.round(at(ms)));
      await sleep(EVERY_MS);
    }
    this.#become(0);
  }

  #become(count: number): void {
    while (this.#clients.length > count) this.#clients.pop()?.leave();
    while (this.#clients.length < count) this.#clients.push(this.#join());
  }

  #join(): Client {
    let socket: Socket;
    let hasLeft = false;
    const open = (): void => {
      const began = performance.now();
      let isAnswered = false;
      socket = connect(this.#port, "127.0.0.1")
        .on("error", () => undefined)
        .once("data", () => {
          isAnswered = true;
          const ms = performance.now() - began;
          this.served += 1;
          this.waitedMs += ms;
          this.longestMs = Math.max(this.longestMs, ms);
        })
        .once("close", () => {
          if (hasLeft) return;
          if (!isAnswered) this.failures.push(`closed after ${Math.round(performance.now() - began)} ms`);
          // An instance that is removed closes its connections: a client comes back.
          open();
        });
      socket.write(REQUEST);
    };
    open();
    return {
      leave: () => {
        hasLeft = true;
        socket.destroy();
      },
    };
  }
}

type Client = { readonly leave: () => void };

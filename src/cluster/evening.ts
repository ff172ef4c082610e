/** Sees to it that the processes of the balancer have about the same to do: connections that last go where there is less. */
import type { Mate } from "./crew.ts";
import { Arrivals, give, type Half, sendBoth } from "./moving.ts";
import { type Transfer, transferOf } from "./shares.ts";
import type { Handle } from "./sockets.ts";
import type { Worker } from "./worker.ts";

/** After a transfer loads say nothing for so long. Milliseconds. */
const SETTLE_MS = 750;

export class Evening {
  readonly #worker: Worker;
  readonly #mates: readonly Mate[];
  readonly #arrivals = new Arrivals();
  #move: Promise<void> | undefined;
  #notBefore = 0;
  #isOver = false;

  constructor(worker: Worker, mates: readonly Mate[]) {
    this.#worker = worker;
    this.#mates = mates;
  }

  /** There are new figures. Returns whether connections begin to move by them. */
  look(): boolean {
    if (this.#isOver || this.#move !== undefined || performance.now() < this.#notBefore) return false;
    const transfer = transferOf([this.#worker, ...this.#mates].map(({ load }) => load));
    if (transfer === undefined) return false;
    this.#move = this.#carryOut(transfer).then(() => {
      this.#move = undefined;
      this.#notBefore = performance.now() + SETTLE_MS;
    });
    return true;
  }

  /** Resolves when nothing is on its way, and nothing will be. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#move;
  }

  /** The first process is 0. What goes between two others goes through it. */
  async #carryOut({ from, to, count }: Transfer): Promise<void> {
    const [giver, taker] = [this.#mates[from - 1], this.#mates[to - 1]];
    if (giver !== undefined) {
      await giver.give(count, (half, socket) => void this.#pass(half, socket, taker));
      this.#arrivals.clear();
    } else if (taker !== undefined) await give(this.#worker.busyPairs, count, (half, socket) => taker.send(half, socket));
  }

  async #pass(half: Half, socket: Handle | undefined, taker: Mate | undefined): Promise<void> {
    const sockets = this.#arrivals.add(half, socket);
    if (sockets === undefined) return;
    const isSent = taker !== undefined && (await sendBoth(half, sockets, (each, its) => taker.send(each, its)));
    // A taker that has ended meanwhile gets nothing, and nothing is lost.
    if (!isSent) return this.#worker.adopt(half, sockets);
    sockets.client.close();
    sockets.backend.close();
  }
}

/** Sees to it that the processes of the balancer have about the same to do: connections that last go where there is less. */
import type { Mate } from "./crew.ts";
import { Arrivals, give, type Half, sendBoth } from "./moving.ts";
import { type Load, spread, type Transfer, transferOf } from "./shares.ts";
import type { Handle } from "./sockets.ts";
import type { Worker } from "./worker.ts";

/** After a transfer loads say nothing for so long. Milliseconds. */
const SETTLE_MS = 750;
/** Clients that come together come to several processes; these find out at about the same time whether they stay. Milliseconds. */
const TOGETHER_MS = 10;

export class Evening {
  readonly #worker: Worker;
  readonly #mates: readonly Mate[];
  readonly #arrivals = new Arrivals();
  #move: Promise<void> | undefined;
  #notBefore = 0;
  #spreading: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(worker: Worker, mates: readonly Mate[]) {
    this.#worker = worker;
    this.#mates = mates;
  }

  /** There are new figures. */
  look(): void {
    if (this.#isOver || this.#move !== undefined) return;
    const loads = this.#loads;
    if (loads.some(({ fresh }) => fresh > 0)) this.#spreading ??= setTimeout(() => this.#spread(), TOGETHER_MS);
    const transfer = performance.now() < this.#notBefore ? undefined : transferOf(loads);
    if (transfer !== undefined) this.#begin([transfer]);
  }

  get #loads(): readonly Load[] {
    return [this.#worker, ...this.#mates].map(({ load }) => load);
  }

  /** Those who have just come. */
  #spread(): void {
    this.#spreading = undefined;
    if (!this.#isOver && this.#move === undefined) this.#begin(spread(this.#loads));
  }

  #begin(transfers: readonly Transfer[]): void {
    if (transfers.length === 0) return;
    this.#move = (async () => {
      for (const transfer of transfers) await this.#carryOut(transfer);
      this.#move = undefined;
      this.#notBefore = performance.now() + SETTLE_MS;
    })();
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
    } else if (taker !== undefined) await give(this.#worker.movable(), count, (half, socket) => taker.send(half, socket));
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

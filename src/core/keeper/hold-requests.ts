/** Asks the logger to hold the FIFOs of coming runs open, and waits for its answer: what such a run writes outlives run and keeper. */
import type { ToLogger } from "../ipc/logger-protocol.ts";
import type { OpenablePaths } from "./fifo-pool.ts";

/** Longest wait for an answer. A logger that has exceeded it (its disk is stuck, say) isn't waited for until it answers. Milliseconds. */
const WAIT_MS = 1_000;

export class HoldRequests {
  readonly #send: (message: ToLogger) => void;
  readonly #unanswered = new Map<number, () => void>();
  #last = 0;
  #isAnswering = true;

  constructor(send: (message: ToLogger) => void) {
    this.#send = send;
  }

  /** Resolves when the logger holds them, or doesn't answer. `send`: to another logger than the current one. */
  async ask(pairs: readonly OpenablePaths[], send = this.#send): Promise<void> {
    if (pairs.length === 0) return;
    this.#last += 1;
    const receipt = this.#last;
    const paths = pairs.flatMap(({ out, err }) => [out, err]);
    const fallbacks = pairs.flatMap(({ out, err, held }) => [held?.out ?? out, held?.err ?? err]);
    send({ t: "hold", paths, fallbacks, receipt });
    if (!this.#isAnswering) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#isAnswering = false;
        this.#unanswered.delete(receipt);
        resolve();
      }, WAIT_MS);
      this.#unanswered.set(receipt, () => {
        clearTimeout(timer);
        this.#unanswered.delete(receipt);
        resolve();
      });
    });
  }

  answered(receipt: number): void {
    this.#isAnswering = true;
    this.#unanswered.get(receipt)?.();
  }
}

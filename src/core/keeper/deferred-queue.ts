/** Does work that nothing waits for a little later, to leave the CPU to a process that has just started. */
import { monotonicMs } from "../os/clock.ts";

/** Milliseconds. */
const DELAY_MS = 3;
/** While many processes are being started: each flush costs as much as half a start, whatever its size. Milliseconds. */
const RUSH_DELAY_MS = 25;

export class DeferredQueue {
  #isRush = false;

  /** Whether more processes are about to be started. */
  set isRush(isRush: boolean) {
    this.#isRush = isRush;
  }

  /** Returns the function that cancels it. */
  add(act: () => void): () => void {
    const added = monotonicMs();
    const check = (): void => {
      if (this.#isRush && monotonicMs() - added < RUSH_DELAY_MS) timer = setTimeout(check, DELAY_MS);
      else act();
    };
    let timer = setTimeout(check, DELAY_MS);
    return () => clearTimeout(timer);
  }
}

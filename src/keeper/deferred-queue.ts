/** What nothing waits for is done a little later: a process that has just been started has its first moments to itself. */
import { monotonicMs } from "../os/clock.ts";

/** Milliseconds. */
const DELAY_MS = 3;
/** While many processes are being started: each time costs as much as half a start, however much it is for. Milliseconds. */
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

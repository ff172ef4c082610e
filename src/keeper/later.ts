/** What nobody waits for is done a little later: a process that has just been started has its beginning to itself. */
import { monotonicMs } from "../os/monotonic.ts";

/** Milliseconds. */
const LATER_MS = 3;
/** While many are being started: each time costs as much as half a start, however much it is for. Milliseconds. */
const RUSH_MS = 25;

let isRush = false;

/** Whether more processes are about to be started. */
export function rush(isOn: boolean): void {
  isRush = isOn;
}

/** Gives the way to take it back. */
export function later(act: () => void): () => void {
  const asked = monotonicMs();
  const look = (): void => {
    if (isRush && monotonicMs() - asked < RUSH_MS) timer = setTimeout(look, LATER_MS);
    else act();
  };
  let timer = setTimeout(look, LATER_MS);
  return () => clearTimeout(timer);
}

/**
 * V8 gives short-lived objects 16 MB and more after a burst of work, and never takes that back. Procman's processes keep the 1 MB
 * that they begin with: the collections are more, but each takes next to nothing. As an argument of `node` the flag would make
 * Node's own compiled code useless, and the start 20 ms longer.
 */
import { setFlagsFromString } from "node:v8";

const FLAG = "--semi-space-growth-factor";
/** What V8 begins with. */
const DEFAULT = 2;

/** Of this bundle. */
let isHeld = false;

/** Node's own modules that are loaded later have to be compiled, but for those that `os/builtin` loads. */
export function holdYoungGeneration(): void {
  isHeld = true;
  setFlagsFromString(`${FLAG}=1`);
}

/** Whether this bundle has changed the flags. */
export function hasOtherFlags(): boolean {
  return isHeld;
}

/** Compiled code is only taken by a process that has the flags it was made with: those of the start. Afterwards the young generation is held. */
export function withFlagsOfStart<Result>(act: () => Result): Result {
  setFlagsFromString(`${FLAG}=${DEFAULT}`);
  try {
    return act();
  } finally {
    holdYoungGeneration();
  }
}

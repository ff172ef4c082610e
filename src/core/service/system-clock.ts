/** The clock of the machine. */

import type { Clock } from "../base/timer-clock.ts";
import { monotonicMs } from "../os/clock.ts";

/** Longest delay of a Node timer. Milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: monotonicMs,
  wall: Date.now,
  at(due, call) {
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const left = due - monotonicMs();
      // Node may fire a timer up to a millisecond early: then it is set again.
      timer = setTimeout(
        () => (due - monotonicMs() > 0 ? arm() : call()),
        Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(left))),
      );
    };
    arm();
    return () => clearTimeout(timer);
  },
  chance: Math.random,
};

/** The program that procman was started to end with. (Not by a pipe from it: a keeper that comes in place of a killed one has none.) */
import { isAlive } from "../os/process-stat.ts";
import type { Parent } from "./options.ts";

/** Where there is no /proc, each look starts a program. Milliseconds. */
const LOOK_MS = process.platform === "linux" ? 250 : 2_000;

/** Calls once when that very program has ended, by whatever. */
export function onceGone({ pid, startTime }: Parent, call: () => void): void {
  const timer = setInterval(() => {
    if (isAlive(pid, startTime)) return;
    clearInterval(timer);
    call();
  }, LOOK_MS);
}

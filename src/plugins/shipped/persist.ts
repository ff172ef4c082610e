/** The same again until it is done: at first soon, then more and more rarely. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PluginLog } from "../plugin.ts";
import type { Outcome } from "./post.ts";

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export type Persistence = {
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  /** What is tried, as in "Cannot post the message". */
  readonly what: string;
  /** What becomes of the rest in the meantime. */
  readonly meanwhile: string;
  /** Gives up after so many tries. Default: never. */
  readonly most?: number;
};

/** `stopped`: the signal came. A failure is told once, and when it is over. */
export async function persist(attempt: () => Promise<Outcome>, on: Persistence): Promise<"done" | "refused" | "stopped"> {
  const { log, signal, what, meanwhile, most = Number.POSITIVE_INFINITY } = on;
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt();
    if (outcome.kind === "done") {
      if (tries > 1) log.info(`${what}: it works again`);
      return "done";
    }
    if (signal.aborted) return "stopped";
    if (outcome.kind === "refused" || tries >= most) {
      log.error(`Cannot ${what}: ${outcome.why}; it is dropped`);
      return "refused";
    }
    if (tries === 1) log.warn(`Cannot ${what}: ${outcome.why}; tried again, ${meanwhile}`);
    await pause(outcome.afterMs ?? delayAfter(tries), signal);
  }
}

function delayAfter(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1)) * (0.75 + Math.random() / 2);
}

/** The signal ends it; the attempt that follows is the last one. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

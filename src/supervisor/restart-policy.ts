/** When an ended process comes back, and how long that takes. */
import type { StopSignal } from "../base/stop-signals.ts";

/** The policy of one process, in milliseconds. */
export type Policy = {
  readonly restart: "never" | "error" | "always";
  /** A fixed delay before each restart; absent: the first at once, then 100 ms doubling to 30 s, with jitter. */
  readonly restartDelayMs?: number;
  /** Restarts allowed since the last clear; Infinity: no limit. */
  readonly restartLimit: number;
  /** A run that lived this long clears the count and the delay. */
  readonly restartResetMs: number;
  readonly graceMs: number;
  readonly terminateMs: number;
  /** Asks a run to end; absent: SIGTERM. */
  readonly stopSignal?: StopSignal;
  /** 0: no limit of run time. */
  readonly timeoutMs: number;
  /** A run must become ready within this; absent: it is so at once. */
  readonly readyMs?: number;
  /** Whether dependencies must be ready before the child starts. */
  readonly waits: boolean;
};

/** By which a run is asked to end. */
export function stopSignalOf({ stopSignal = "SIGTERM" }: Policy): StopSignal {
  return stopSignal;
}

const FIRST_DELAY_MS = 100;
/** A run has settled after this time: what ends sooner may go on ending, and is looked at before it comes back. Milliseconds. */
const SETTLED_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

export function wantsRestart(policy: Policy, failed: boolean): boolean {
  return policy.restart === "always" || (policy.restart === "error" && failed);
}

/**
 * Milliseconds until the next restart. `chance` in [0, 1) spreads the growing delays by a quarter to
 * either side, so that processes that failed together don't come back together.
 */
export function restartDelay(policy: Policy, restarts: number, chance: number): number {
  if (policy.restartDelayMs !== undefined) return policy.restartDelayMs;
  if (restarts === 0) return 0;
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (restarts - 1));
  return Math.min(LONGEST_DELAY_MS, Math.round(delay * (0.75 + chance / 2)));
}

/**
 * From when on it is sure that an end of this run is followed by the next at once; Infinity: it isn't. Monotonic milliseconds, as
 * `since`. Ends that the policy takes for no reason to start again, as it does successes, are left out.
 */
export function followsFrom({ since, restarts }: { readonly since: number; readonly restarts: number }, policy: Policy): number {
  if (policy.restart === "never" || policy.waits) return Number.POSITIVE_INFINITY;
  const follows = (count: number): boolean => count < policy.restartLimit && restartDelay(policy, count, 0) === 0;
  if (follows(restarts)) return since + SETTLED_MS;
  return follows(0) ? since + Math.max(SETTLED_MS, policy.restartResetMs) : Number.POSITIVE_INFINITY;
}

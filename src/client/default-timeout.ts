/** How long a client waits for an action by default. */
import type { Action } from "../core/contract/control.ts";

/** A stop may take 30 s until SIGKILL. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 60;
/** A rolling restart takes its time for each instance. Seconds. */
const ROLL_SECONDS = 600;

/** Seconds. */
export function defaultTimeout(action: Action): number {
  return action === "restart" ? ROLL_SECONDS : DEFAULT_TIMEOUT_SECONDS;
}

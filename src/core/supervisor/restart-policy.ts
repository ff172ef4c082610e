/** When an ended process is restarted, and after which delay. */
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  nullSchema,
  number,
  type ObjectOf,
  openObject,
  optional,
  type Schema,
  string,
  type TypeOf,
  union,
} from "../base/schema.ts";
import { RELOAD_SIGNALS, STOP_SIGNALS, type StopSignal } from "../base/signals.ts";
import type { ExitInfo } from "./states.ts";

/** A command with a time limit. `timeoutMs`: after this time it is ended; 0: no limit. */
const HOOK = openObject({ line: string(), timeoutMs: number() });

export type Hook = TypeOf<typeof HOOK>;

const count = integer({ minimum: 0 });

/** The parts of the policy of a process, from which its type and the check of a stored one follow; times in milliseconds. */
export const POLICY = {
  restart: enumeration(["never", "error", "always"]),
  /** A fixed delay before each restart; absent: none before the first, then 100 ms doubling up to 30 s, with jitter. */
  restartDelayMs: optional(number()),
  /** Restarts allowed since the last reset; Infinity: no limit, which JSON writes as null. */
  restartLimit: union([count, nullSchema]) as Schema<number>,
  /** A run of this length resets the count and the delay. */
  restartResetMs: number(),
  /** A run without a readiness probe counts as up after this time; absent: 1 s. */
  minUptimeMs: optional(number()),
  graceMs: number(),
  terminateMs: number(),
  /** Maximum run time; 0: no limit. */
  timeoutMs: number(),
  /** Time in which a run must become ready; absent: it is ready immediately. */
  readyMs: optional(number()),
  /** After this time without a client it sleeps; absent: never. */
  idleMs: optional(number()),
  /** Whether dependencies must be ready before the child starts. */
  waits: boolean(),
  /** Exit codes that count as success like 0, and names of signals by which an end does. */
  successExitCodes: optional(list(union([count, string()]))),
  /** Signal that asks a run to stop; absent: SIGTERM. */
  stopSignal: optional(enumeration(STOP_SIGNALS)),
  /** Signal by which a run reloads its configuration; absent: it can't. */
  reloadSignal: optional(enumeration(RELOAD_SIGNALS)),
  /** The leader alone gets the stop signal; absent: the whole process group. */
  killMode: optional(literal("leader")),
  /** Must succeed before the child is spawned. */
  beforeStart: optional(HOOK),
  /** Must be over before the slot is empty. */
  afterStop: optional(HOOK),
} as const;

export type Policy = ObjectOf<typeof POLICY>;

export function stopSignalOf({ stopSignal = "SIGTERM" }: Policy): StopSignal {
  return stopSignal;
}

const DEFAULT_MIN_UPTIME_MS = 1_000;

export function minUptimeOf({ minUptimeMs = DEFAULT_MIN_UPTIME_MS }: Policy): number {
  return minUptimeMs;
}

/** Whether an end by itself counts as success. */
export function isSuccess(ending: ExitInfo, { successExitCodes = [] }: Pick<Policy, "successExitCodes">): boolean {
  if (ending.kind !== "exited") return false;
  const { code, signal, outOfMemory = false } = ending;
  return code === 0 || (!outOfMemory && successExitCodes.some((exit) => exit === code || exit === signal));
}

const FIRST_DELAY_MS = 100;
/** A run is settled after this time. If one exits sooner, the service decides before it is restarted. Milliseconds. */
const SETTLED_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

export function wantsRestart(policy: Policy, failed: boolean): boolean {
  return policy.restart === "always" || (policy.restart === "error" && failed);
}

/**
 * Milliseconds until the next restart. `chance` in [0, 1) varies the growing delay by up to a quarter, so that
 * processes which failed together don't restart together.
 */
export function restartDelay(policy: Policy, restarts: number, chance: number): number {
  if (policy.restartDelayMs !== undefined) return policy.restartDelayMs;
  if (restarts === 0) return 0;
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (restarts - 1));
  return Math.min(LONGEST_DELAY_MS, Math.round(delay * (0.75 + chance / 2)));
}

/**
 * Time from which an exit of this run leads to an immediate restart; Infinity if it never does. Monotonic milliseconds,
 * like
 * `since`. Disregards exits after which the policy doesn't restart, such as successful ones.
 */
export function restartsAtOnceFrom(
  { since, restarts }: { readonly since: number; readonly restarts: number },
  policy: Policy,
): number {
  const hasHook = policy.beforeStart !== undefined || policy.afterStop !== undefined;
  if (policy.restart === "never" || policy.waits || hasHook) return Number.POSITIVE_INFINITY;
  // The keeper knows only code 0 as success.
  if (policy.restart === "error" && policy.successExitCodes !== undefined) return Number.POSITIVE_INFINITY;
  const restartsAtOnce = (count: number): boolean =>
    count < policy.restartLimit && restartDelay(policy, count, 0) === 0;
  if (restartsAtOnce(restarts)) return since + SETTLED_MS;
  return restartsAtOnce(0) ? since + Math.max(SETTLED_MS, policy.restartResetMs) : Number.POSITIVE_INFINITY;
}

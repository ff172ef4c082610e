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
  /** 0: no limit of run time. */
  readonly timeoutMs: number;
  /** Whether dependencies must be ready before the child starts. */
  readonly waits: boolean;
};

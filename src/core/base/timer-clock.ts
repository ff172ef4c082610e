/** The clock and its timers: the machine's in production; tests set another one. */
export interface Clock {
  /** Monotonic milliseconds, on one scale for all processes until the machine reboots. */
  now(): number;
  /** Milliseconds since 1970; may jump. */
  wall(): number;
  /** Calls back at `due` (monotonic milliseconds); the returned function cancels the call. */
  at(due: number, call: () => void): () => void;
  /** A number in [0, 1). */
  chance(): number;
}

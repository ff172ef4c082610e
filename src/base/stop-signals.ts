/** Signals that ask a process to stop. */
export const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

export type StopSignal = (typeof STOP_SIGNALS)[number];

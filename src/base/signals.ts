/** Signals that may be configured to stop a process. */
export const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

export type StopSignal = (typeof STOP_SIGNALS)[number];

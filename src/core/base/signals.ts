/** Signals that may be configured to stop a process. */
export const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Signals that end programs from outside: an end by one of them may count as success. */
export const SUCCESS_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGKILL"] as const;

/** Signals by which programs take up a changed configuration. */
export const RELOAD_SIGNALS = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Signals that can be sent by hand: those that both Linux and macOS have. */
export const SIGNALS = [
  ...STOP_SIGNALS,
  ...([
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCONT",
    "SIGFPE",
    "SIGILL",
    "SIGIO",
    "SIGKILL",
    "SIGPIPE",
    "SIGPROF",
  ] as const),
  ...([
    "SIGSEGV",
    "SIGSTOP",
    "SIGSYS",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGVTALRM",
    "SIGXCPU",
    "SIGXFSZ",
  ] as const),
] as const;

export type AnySignal = (typeof SIGNALS)[number];

/** Which processes of a run get the stop signal: its process group, or the leader alone. */
export const KILL_MODES = ["group", "leader"] as const;

export type KillMode = (typeof KILL_MODES)[number];

export type StopSignal = (typeof STOP_SIGNALS)[number];

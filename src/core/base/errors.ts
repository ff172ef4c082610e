/** The table of errors that users can see, with their HTTP status and exit code. */

/**
 * Exit codes of the command line: those of sysexits.h where it has a name for the case; 2 as terraform's `plan`, 3 as
 * `systemctl is-active` and `supervisorctl status`; 130 is 128 + SIGINT.
 */
export const EXIT = {
  done: 0,
  refused: 1,
  changed: 2,
  notRunning: 3,
  usage: 64,
  noDaemon: 69,
  bug: 70,
  configuration: 78,
  interrupted: 130,
} as const;

/** What each exit code says, for the manual. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: "done",
  refused: "refused or failed, for example a second `run` with the same state folder",
  changed: "`plan --exit-code`: the file changes something",
  notRunning: "`status`: something that was asked for isn't running",
  usage: "the command line was wrong",
  noDaemon:
    "procman is not running or can't be reached; the message names a running procman with another `name` beside it",
  bug: "a bug in procman",
  configuration: "the configuration is not valid",
  interrupted:
    "Ctrl-C during the questions of `init` (nothing is written), or while a command waited (what it asked for continues)",
};

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

type Row = { readonly status: number; readonly exit: ExitCode };

export const ERRORS = {
  usage: { status: 400, exit: EXIT.usage },
  "configuration-invalid": { status: 400, exit: EXIT.configuration },
  "configuration-missing": { status: 400, exit: EXIT.configuration },
  "file-exists": { status: 409, exit: EXIT.refused },
  /** The target can't do what a process needs. */
  "export-refused": { status: 409, exit: EXIT.refused },
  "already-running": { status: 409, exit: EXIT.refused },
  "process-unknown": { status: 404, exit: EXIT.refused },
  "process-blocked": { status: 409, exit: EXIT.refused },
  "process-running": { status: 409, exit: EXIT.refused },
  "process-not-running": { status: 409, exit: EXIT.refused },
  /** Asked by `GET /health`. */
  "process-down": { status: 503, exit: EXIT.notRunning },
  "process-leaving": { status: 409, exit: EXIT.refused },
  "events-lost": { status: 503, exit: EXIT.refused },
  "start-failed": { status: 500, exit: EXIT.refused },
  /** The requested state can't be reached, or another caller has asked for the opposite. */
  "process-failed": { status: 409, exit: EXIT.refused },
  "reload-running": { status: 409, exit: EXIT.refused },
  /** The previous configuration is active again. */
  "reload-failed": { status: 409, exit: EXIT.refused },
  /** There is no such entry, or none any more. */
  "history-unknown": { status: 404, exit: EXIT.refused },
  "history-damaged": { status: 409, exit: EXIT.refused },
  "rollback-refused": { status: 409, exit: EXIT.refused },
  /** The request can't be carried out; nothing was done. */
  "deploy-refused": { status: 409, exit: EXIT.refused },
  "deploy-running": { status: 409, exit: EXIT.refused },
  /** The release before is in use, as before. */
  "deploy-failed": { status: 409, exit: EXIT.refused },
  "release-unknown": { status: 404, exit: EXIT.refused },
  "rollout-running": { status: 409, exit: EXIT.refused },
  /** The step isn't possible, or not now; nothing was done. */
  "rollout-refused": { status: 409, exit: EXIT.refused },
  "rollout-failed": { status: 409, exit: EXIT.refused },
  "rollout-unknown": { status: 404, exit: EXIT.refused },
  "roll-running": { status: 409, exit: EXIT.refused },
  /** Some instances were restarted; the others keep running as before. */
  "roll-failed": { status: 409, exit: EXIT.refused },
  "reload-unsupported": { status: 409, exit: EXIT.refused },
  /** The cluster can't be scaled to this size, or not now. */
  "scale-refused": { status: 409, exit: EXIT.refused },
  /** Nothing of these processes alone can be emptied. */
  "flush-refused": { status: 409, exit: EXIT.refused },
  /** By the configuration. */
  "exec-refused": { status: 403, exit: EXIT.refused },
  "exec-failed": { status: 409, exit: EXIT.refused },
  "exec-unknown": { status: 404, exit: EXIT.refused },
  /** The process takes no input. */
  "input-refused": { status: 409, exit: EXIT.refused },
  /** The process doesn't read; `taken` bytes were taken. */
  "input-full": { status: 409, exit: EXIT.refused },
  "process-foreign": { status: 403, exit: EXIT.refused },
  "wait-timeout": { status: 504, exit: EXIT.refused },
  "input-invalid": { status: 400, exit: EXIT.usage },
  unauthorized: { status: 401, exit: EXIT.refused },
  "scope-missing": { status: 403, exit: EXIT.refused },
  "origin-refused": { status: 403, exit: EXIT.refused },
  "path-unknown": { status: 404, exit: EXIT.refused },
  "method-unknown": { status: 405, exit: EXIT.refused },
  "body-too-large": { status: 413, exit: EXIT.refused },
  "media-type": { status: 415, exit: EXIT.refused },
  "expectation-unknown": { status: 417, exit: EXIT.refused },
  "request-unreadable": { status: 400, exit: EXIT.refused },
  "too-many-requests": { status: 429, exit: EXIT.refused },
  "too-many-streams": { status: 503, exit: EXIT.refused },
  /** The logger can't take or store a line at present. */
  "log-unavailable": { status: 503, exit: EXIT.refused },
  /** The service may open no more files. */
  "resources-short": { status: 503, exit: EXIT.refused },
  "state-folder": { status: 500, exit: EXIT.refused },
  /** `install` or `uninstall` isn't possible here. */
  "boot-refused": { status: 409, exit: EXIT.refused },
  "upgrade-failed": { status: 500, exit: EXIT.refused },
  "no-daemon": { status: 503, exit: EXIT.noDaemon },
  "service-down": { status: 503, exit: EXIT.noDaemon },
  interrupted: { status: 503, exit: EXIT.interrupted },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;

/** With `service-down`: nothing was done. */
export const GIVES_WAY = "procman's service is being replaced; try again";

/** What each error says, for the docs. */
export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  usage: "options or arguments are wrong; by the API: a line for the log has more than 64 KiB",
  "configuration-invalid": "the configuration is not valid; `problems` lists all faults with their places",
  "configuration-missing": "there is no configuration file, or it can't be read",
  "file-exists": "a file is in the way; `--force` replaces it where the command has that option",
  "export-refused": "the target of `export` can't do what a process needs",
  "already-running": "this configuration, or one with its state folder, is already running",
  "process-unknown": "no process, instance or group has this id; `detail` suggests the nearest one",
  "process-blocked": "the process is blocked",
  "process-running": "the process is running",
  "process-not-running": "the process isn't running",
  "process-down": "`GET /health?process=ID`: it is not up, or there is none of this id",
  "process-leaving": "the process is being removed",
  "events-lost": "a reader of events was too slow (in an event `problem`), and must reconnect",
  "start-failed":
    "`Procman.run` of the library, `run --detach --json` and `up --json`: procman has ended before its API answered, or since",
  "process-failed": "the requested state can't be reached, or another caller has asked for the opposite",
  "reload-running": "another reload is under way",
  "reload-failed": "the changed configuration can't be applied; the previous one is active",
  "history-unknown": "the history has no such entry, or none any more; `detail` names those that it has",
  "history-damaged": "the entry, or a text of it, can't be read",
  "rollback-refused": "an included file has changes that are not committed, or the entry is of another machine",
  "deploy-refused": "what is to be deployed, or the configuration, isn't fit for it; nothing was done",
  "deploy-running": "another deployment is under way; `detail` says whose",
  "deploy-failed": "the deployment has failed or was taken back; the release before is in use",
  "release-unknown": "there is no such release or deployment",
  "rollout-running": "the host takes part in another rollout; `detail` says whose",
  "rollout-refused": "the rollout, or its next step, isn't possible, or not now; nothing was done",
  "rollout-failed": "not all hosts are done; the message says what has become of them",
  "rollout-unknown": "the host takes part in no such rollout",
  "roll-running": "a rolling restart of the cluster is under way",
  "roll-failed": "an instance did not come up: the rolling restart has ended, the others keep running as before",
  "reload-unsupported": "the process has no `reloadSignal`",
  "scale-refused": "the cluster can't have this number of instances, or not now",
  "flush-refused": "these processes have no log file to empty, or `flush` was not confirmed",
  "exec-refused":
    "`api.exec` is not true, so that commands are executed, and releases made, over the Unix socket alone",
  "exec-failed": "the command can't be started: its folder, a file or a variable of the process is missing",
  "exec-unknown": "no command with this session is running, or it reads no input any more",
  "input-refused": 'the process has no `"stdin": true`, its program has closed its input, or it is not one process',
  "input-full": "the process doesn't read its standard input; `taken` has the number of bytes that were taken",
  "process-foreign": "the token is not valid for this process",
  "wait-timeout":
    "the requested state was not reached in the time of `wait` or `--timeout`; what was asked for continues",
  "input-invalid": "parameters or body are wrong; `problems` lists all faults with their places",
  unauthorized: "the token is missing or not valid; `detail` says why",
  "scope-missing": "the token lacks the scope",
  "origin-refused": "a `Host` or `Origin` that is not allowed",
  "path-unknown": "the API has no such path",
  "method-unknown": "the path has no such method; `Allow` lists those that it has",
  "body-too-large": "the body is longer than its limit",
  "media-type": "the body must be `application/json` in UTF-8",
  "expectation-unknown": "a header `Expect` with another value than `100-continue`",
  "request-unreadable": "the request is not HTTP; with 408 it took too long, with 431 its headers are too long",
  "too-many-requests": "too many bad tokens, streams, lines or reports; `Retry-After` has the seconds to wait",
  "too-many-streams": "there are too many streams of all consumers together",
  "log-unavailable": "the logger is behind, or can't store lines right now",
  "resources-short": "procman may open no more files; `detail` names the limit to raise",
  "state-folder": "the state folder can't be used",
  "boot-refused": "`install` or `uninstall` can't do it on this machine, or not safely",
  "upgrade-failed": "a new part did not become ready; the old one continues",
  "no-daemon": "no procman is running for this configuration; with `import --from-running pm2`: no pm2",
  "service-down":
    "procman is running, but its service doesn't answer, or is being replaced (with `Retry-After: 0`: nothing was done, ask again); or another host doesn't answer",
  interrupted: "Ctrl-C was pressed",
};

/** One fault of an input: its place (`query.limit`, `body.memory.rss`), and what was found and is allowed. */
export type ErrorPlace = { readonly place: string; readonly message: string };

type ProcmanErrorOptions = ErrorOptions & {
  readonly faults?: readonly ErrorPlace[];
  readonly processes?: readonly string[];
  readonly taken?: number | undefined;
};

/**
 * An error that a user can act on. Its message reads `Cannot <do x>: <what is the case>`.
 * Everything else that is thrown is a bug (exit code 70).
 *
 * @example
 * throw new ProcmanError("process-unknown", 'Cannot start "wbe": no such process. Did you mean "web"?');
 */
export class ProcmanError extends Error {
  readonly code: ErrorCode;
  /** All faults of the input, with their places. */
  readonly faults: readonly ErrorPlace[];
  /** Processes and instances that have failed, or are not up in time. */
  readonly processes: readonly string[];
  /** How many bytes of an input were taken for which there was no room (`input-full`). */
  readonly taken: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ProcmanErrorOptions) {
    super(message, options);
    this.name = "ProcmanError";
    this.code = code;
    this.faults = options?.faults ?? [];
    this.processes = options?.processes ?? [];
    this.taken = options?.taken;
  }

  get exitCode(): ExitCode {
    return ERRORS[this.code].exit;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Whether an operation failed because the path doesn't exist. */
export function isNotFound(error: unknown): boolean {
  const { code = "" } = error as { readonly code?: string };
  return code === "ENOENT" || code === "ENOTDIR";
}

/** `ENOSPC`, or "UNKNOWN" if it isn't a system error. */
export function errnoOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return "UNKNOWN";
}

/** `no space left on device` of Node's `ENOSPC: no space left on device, write`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message;
}

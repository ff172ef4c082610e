/** The one table of errors: what a user may be told, with which HTTP status and exit code. */

/** Exit codes of the command line (sysexits.h where it has a name for it; 128 and the number of the signal after Ctrl-C). */
export const EXIT = { done: 0, refused: 1, usage: 64, noDaemon: 69, bug: 70, configuration: 78, interrupted: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

type Row = { readonly status: number; readonly exit: ExitCode };

export const ERRORS = {
  usage: { status: 400, exit: EXIT.usage },
  "configuration-invalid": { status: 400, exit: EXIT.configuration },
  "configuration-missing": { status: 400, exit: EXIT.configuration },
  "file-exists": { status: 409, exit: EXIT.refused },
  "already-running": { status: 409, exit: EXIT.refused },
  "process-unknown": { status: 404, exit: EXIT.refused },
  "process-blocked": { status: 409, exit: EXIT.refused },
  "process-running": { status: 409, exit: EXIT.refused },
  "process-leaving": { status: 409, exit: EXIT.refused },
  "events-lost": { status: 503, exit: EXIT.refused },
  "start-failed": { status: 500, exit: EXIT.refused },
  /** What was asked for is not to be reached, or somebody else has asked for the contrary. */
  "process-failed": { status: 409, exit: EXIT.refused },
  "reload-running": { status: 409, exit: EXIT.refused },
  /** Everything is as it was before. */
  "reload-failed": { status: 409, exit: EXIT.refused },
  "roll-running": { status: 409, exit: EXIT.refused },
  /** Some instances are restarted, the others run on as before. */
  "roll-failed": { status: 409, exit: EXIT.refused },
  /** This cluster can't have so many instances, or not now. */
  "scale-refused": { status: 409, exit: EXIT.refused },
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
  "too-many-requests": { status: 429, exit: EXIT.refused },
  "too-many-streams": { status: 503, exit: EXIT.refused },
  "state-folder": { status: 500, exit: EXIT.refused },
  "upgrade-failed": { status: 500, exit: EXIT.refused },
  "no-daemon": { status: 503, exit: EXIT.noDaemon },
  "service-down": { status: 503, exit: EXIT.noDaemon },
  interrupted: { status: 503, exit: EXIT.interrupted },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;

/** One thing that is wrong with an input: its place (`query.limit`, `body.memory.rss`), what was found and what is allowed. */
export type Fault = { readonly place: string; readonly message: string };

/**
 * An error that a user can act on. Its message reads `Cannot <do x>: <what is the case>`.
 * Everything else that is thrown is a bug (exit code 70).
 *
 * @example
 * throw new ProcmanError("process-unknown", 'Cannot start "wbe": no such process. Did you mean "web"?');
 */
export class ProcmanError extends Error {
  readonly code: ErrorCode;
  /** What is wrong with the input, and where: all of it. */
  readonly faults: readonly Fault[];

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { readonly faults?: readonly Fault[] }) {
    super(message, options);
    this.name = "ProcmanError";
    this.code = code;
    this.faults = options?.faults ?? [];
  }

  get exitCode(): ExitCode {
    return ERRORS[this.code].exit;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Whether the system has refused a path since nothing is there. */
export function isNotThere(error: unknown): boolean {
  const { code = "" } = error as { readonly code?: string };
  return code === "ENOENT" || code === "ENOTDIR";
}

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
  "start-failed": { status: 500, exit: EXIT.refused },
  "state-folder": { status: 500, exit: EXIT.refused },
  "upgrade-failed": { status: 500, exit: EXIT.refused },
  "no-daemon": { status: 503, exit: EXIT.noDaemon },
  "service-down": { status: 503, exit: EXIT.noDaemon },
  interrupted: { status: 503, exit: EXIT.interrupted },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An error that a user can act on. Its message reads `Cannot <do x>: <what is the case>`.
 * Everything else that is thrown is a bug (exit code 70).
 *
 * @example
 * throw new ProcmanError("process-unknown", 'Cannot start "wbe": no such process. Did you mean "web"?');
 */
export class ProcmanError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProcmanError";
    this.code = code;
  }

  get exitCode(): ExitCode {
    return ERRORS[this.code].exit;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

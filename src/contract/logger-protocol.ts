/** What the keeper and the logger say to each other (the service's wishes travel through the keeper). */

/** When a log file is closed, renamed and compressed by the logger itself. */
export type Rotation = {
  /** A file that would grow beyond this is rotated first. Bytes. */
  readonly sizeBytes: number;
  /** A file that has been written to for longer than this is rotated. Milliseconds; 0 = never by age. */
  readonly ageMs: number;
  /** Rotated files together may take this much; the oldest go first. Bytes. */
  readonly totalBytes: number;
  readonly gzip: boolean;
};

/** Where the output of one run goes. Paths are absolute, placeholders already filled in. */
export type Capture = {
  /** Process or instance id: the prefix of console lines, and of file lines where several share the file. */
  readonly id: string;
  readonly console: boolean;
  readonly stdout?: string;
  /** Absent: standard error goes where `stdout` goes. */
  readonly stderr?: string;
  /** In files, each line begins with a time stamp, then the id where several processes share the file. */
  readonly decorateFiles: boolean;
  readonly rotation?: Rotation;
};

/** How console lines look, for all processes, and where they go. */
export type ConsoleStyle = {
  readonly decorate: boolean;
  readonly colors: boolean;
  /** Instead of procman's own standard output and error: a file that the logger rotates. Absolute. */
  readonly file?: string;
};

export type ToLogger =
  /** Start to read the two FIFOs of a run (also after a restart of the logger, for all runs that are not drained). */
  | { readonly t: "open"; readonly key: string; readonly out: string; readonly err: string; readonly capture: Capture }
  /** The run's own process has ended. What it wrote is in the FIFO already; `drained` follows once nobody holds the FIFOs open. */
  | { readonly t: "ended"; readonly key: string }
  | { readonly t: "style"; readonly style: ConsoleStyle }
  /** A line of procman's own for the console: `severity` picks its colour, `id` its prefix. */
  | { readonly t: "say"; readonly at: number; readonly severity: "info" | "warn" | "error"; readonly id?: string; readonly text: string }
  /** Close and open all log files (SIGUSR2, after an external logrotate). */
  | { readonly t: "reopen" }
  /** All runs are over: write what is left (last lines without newline too), answer `closed`, exit. */
  | { readonly t: "close" };

export type FromLogger =
  /** Both FIFOs of the run reached their end and everything is written: the keeper lets go of them. */
  | { readonly t: "drained"; readonly key: string }
  /** A file can't be written: said once until it works again. */
  | { readonly t: "problem"; readonly file: string; readonly code: string; readonly message: string }
  /** The file works again; `lostLines`/`lostBytes` were dropped meanwhile (0: all waited). */
  | { readonly t: "recovered"; readonly file: string; readonly lostLines: number; readonly lostBytes: number }
  | { readonly t: "closed" };

/** Messages between keeper and logger (the service's messages go through the keeper). */
import type { LevelRules } from "../contract/levels.ts";
import type { Category, Severity } from "../contract/records.ts";

/** When the logger closes, renames and compresses a log file. */
export type Rotation = {
  /** A file is rotated before it would grow beyond this. Bytes. */
  readonly sizeBytes: number;
  /** A file is rotated when it has been written to for longer than this. Milliseconds; 0 = never by age. */
  readonly ageMs: number;
  /** Limit for all rotated files together; the oldest are removed first. Bytes. */
  readonly totalBytes: number;
  readonly gzip: boolean;
};

/** Where the output of one run goes. Paths are absolute, placeholders already filled in. */
export type CaptureSpec = {
  /** Process or instance id: the prefix of console lines, and of file lines where several share the file. */
  readonly id: string;
  readonly console: boolean;
  readonly stdout?: string;
  /** Absent: standard error goes where `stdout` goes. */
  readonly stderr?: string;
  /** In files, each line begins with a time stamp, then the id where several processes share the file. */
  readonly decorateFiles: boolean;
  /** Files that other processes have too, whether or not they run. Absent: none, or a service of 1.0.0. */
  readonly sharedFiles?: readonly string[];
  readonly rotation?: Rotation;
  /** Present: the lines go to the log store too, as those of this run. */
  readonly store?: { readonly run: number; readonly instance?: number };
};

/** The output goes to the log store only. */
export function isStoreOnly({ console, stdout, stderr }: CaptureSpec): boolean {
  return !console && stdout === undefined && stderr === undefined;
}

/**
 * How long the log store keeps its segments (0: there is no store), how much they may take together, and how lines say
 * their severity (absent: by the known ways alone).
 */
export type StoreSettings = { readonly hours: number; readonly bytes: number; readonly levels?: LevelRules };

/** How console lines look, for all processes. */
export type ConsoleStyle = {
  readonly decorate: boolean;
  readonly colors: boolean;
  /** Each line is a JSON object, as of `procman logs --json`. Absent: text. */
  readonly format?: "json";
  /** A program shows the lines on a terminal with colors. Absent: the console is read as it is. */
  readonly reader?: "terminal";
  /** Lines of processes are written as they are. Absent: with the id in front. */
  readonly prefix?: false;
  /** Absolute path: all console lines go there instead, with time and id and without colors (a detached procman has no console). */
  readonly file?: string;
};

/** The incomplete line that a logger had read of each stream: bytes in base64, "" for none. */
export type BegunRun = { readonly out: string; readonly err: string };

/**
 * What a logger leaves to the next one when SIGUSR1 ends it, as JSON in `HOME/handover-PID.json`. A run that was opened
 * and isn't in it is drained. A logger that ends because its keeper is gone and all is written leaves one too, without
 * captures.
 */
export type HandoverRecord = { readonly captures: Readonly<Record<string, BegunRun>> };

export function handoverFile(home: string, pid: number): string {
  return `${home}/handover-${pid}.json`;
}

/** Pid of the logger whose hand-over has this file name, complete or (`.tmp`) partly written; undefined: another file. */
export function handoverOf(name: string): number | undefined {
  const [, pid] = /^handover-(\d+)\.json(\.tmp)?$/.exec(name) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

/** One of procman's own log entries, for console and log store: `severity` picks its color, `id` (of a process) its prefix. */
export type LoggerMessage = {
  readonly t: "say";
  readonly at: number;
  readonly severity: Severity;
  readonly id?: string;
  readonly text: string;
  /** Absent: `lifecycle` with an id, else `service`. */
  readonly category?: Category;
  readonly instance?: number;
  readonly run?: number;
  /** For the store only. */
  readonly isQuiet?: true;
  /** `stored` with this number follows. */
  readonly receipt?: number;
  /** The entry was sent to a logger that has ended: it is written unless the log store has it. */
  readonly isAgain?: true;
};

/** Names a run in messages and in the keeper's journal. */
export function keyOf({ slot, run }: { readonly slot: string; readonly run: number }): string {
  return `${slot}#${run}`;
}

/** `files`: those that were emptied; a file that doesn't exist, or is none of procman's, is in neither list. */
export type FlushOutcome = {
  readonly files: readonly string[];
  readonly store: boolean;
  readonly problems: readonly { readonly file: string; readonly reason: string }[];
};

export type StyleMessage = {
  readonly t: "style";
  readonly style: ConsoleStyle;
  readonly store?: StoreSettings;
  /** Length of the longest id of the configuration. */
  readonly idWidth?: number;
  /** The service sends `release` for each run that has begun. Absent: no service has spoken so far. */
  readonly releases?: true;
};

export type ToLogger =
  /** The run folder, for the hand-over: sent before any `open`. The log store is the folder `logs` beside it. */
  | { readonly t: "home"; readonly folder: string }
  /** Open these FIFOs of coming runs, and hold them until `open` names them. */
  | {
      readonly t: "hold";
      readonly paths: readonly string[];
      /** For each path another one, to use while its folder has no rights. */
      readonly fallbacks?: readonly string[];
      /** `held` with this number follows. */
      readonly receipt?: number;
    }
  /** Start to read the two FIFOs of a run (also after a restart of the logger, for all runs that are not drained). */
  | {
      readonly t: "open";
      readonly key: string;
      readonly out: string;
      readonly err: string;
      /** Paths to use while the files above have been removed, or their folder has no rights. */
      readonly held?: { readonly out: string; readonly err: string };
      readonly capture: CaptureSpec;
      /** Absent: no logger has read this run before. "killed": its reader was killed, and the log says so. Else what its reader handed over. */
      readonly former?: "killed" | BegunRun;
      /** The run has just begun: it is read after a `release`, if the service sends these (`style`), or a second later. */
      readonly isNew?: true;
    }
  /** The entries about the starts of these runs have been sent. */
  | { readonly t: "release"; readonly keys: readonly string[] }
  /** The configuration has changed: from now on lines go there, also a line whose beginning has been read. */
  | { readonly t: "route"; readonly key: string; readonly capture: CaptureSpec }
  /** The run's own process has ended. Its output is in the FIFO already; `drained` follows once no process holds the FIFOs open. */
  | { readonly t: "ended"; readonly key: string }
  | StyleMessage
  | LoggerMessage
  /** Empty these log files, and with `store` delete the stored output; `flushed` with this number follows. */
  | { readonly t: "flush"; readonly receipt: number; readonly files: readonly string[]; readonly store: boolean }
  /** Close and open all log files (SIGUSR2, after an external logrotate). */
  | { readonly t: "reopen" }
  /** All runs are over: write the rest (last lines without newline too), answer `closed`, exit. */
  | { readonly t: "close" };

export type FromLogger =
  /** First message: it is ready for messages. */
  | { readonly t: "ready"; readonly version: string }
  /** The FIFOs of the `hold` with this receipt are open, as far as they can be opened. */
  | { readonly t: "held"; readonly receipt: number }
  /** Both FIFOs of the run reached their end and everything is written: the keeper releases them. */
  | { readonly t: "drained"; readonly key: string }
  /**
   * A file can't be written: reported once until it works again. For `handoverFile`: the logger stays, as it can't hand
   * over at all; or, with code EAGAIN, until no line waits for a file any more.
   */
  | { readonly t: "problem"; readonly file: string; readonly code: string; readonly message: string }
  /** The file works again; `lostLines`/`lostBytes` were dropped meanwhile (0: none). */
  | { readonly t: "recovered"; readonly file: string; readonly lostLines: number; readonly lostBytes: number }
  /** The entries with these receipts are stored, unless there is a problem: the reason. */
  | { readonly t: "stored"; readonly receipts: readonly number[]; readonly problem?: string }
  /** The `flush` with this receipt is carried out. `problems`: why a file, or the folder of the log store, could not be emptied. */
  | ({ readonly t: "flushed"; readonly receipt: number } & FlushOutcome)
  | { readonly t: "closed" };

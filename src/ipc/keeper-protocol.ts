/** What service and keeper say to each other over Node's IPC channel, always as arrays of messages. */
import type { StopSignal } from "../base/signals.ts";
import type { CaptureSpec, FromLogger, ToLogger } from "./logger-protocol.ts";

/** Raised when a message changes its meaning; both sides refuse another number. */
export const PROTOCOL = 1;

export type EndReport = ({ readonly t: "exited" } & ExitedReport) | ({ readonly t: "failed" } & FailedReport);

/** One run of one slot. `slot` is a process or instance id, with `:2`, `:3` … for overlapping runs. */
export type RunKey = { readonly slot: string; readonly run: number };

export type Signal = StopSignal | "SIGKILL";

/** A TCP socket that listens there. */
export type Listening = { readonly hostname: string; readonly port: number };

/** To service and logger: a listening socket that comes with this message is to be kept for a later keeper, or dropped again. */
export type ListeningSocket = { readonly t: "keep" | "drop"; readonly address: string };

/** Of the first run with a hard limit of memory: which folder has its cgroup, or why there is none. */
export type CgroupReport = { readonly t: "cgroups"; readonly folder?: string; readonly problem?: string };

export type SpawnRequest = RunKey & {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Only what differs from the keeper's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent: the output goes to /dev/null. */
  readonly capture?: CaptureSpec;
  /** Absent: as the keeper itself. */
  readonly as?: { readonly uid?: number; readonly gid?: number };
  /** A descriptor that is open for writing, and the file that it leads to, made anew for this run. */
  readonly notify?: { readonly fd: number; readonly file: string };
  /** A listening socket that the run gets as descriptor 3: the same for all that ask for this address. */
  readonly listen?: Listening;
  /** The kernel lets it have no more memory than this, with all that it starts, where cgroups can be had. Bytes. */
  readonly memoryMax?: number;
  /** It is a Node process with a channel, on which it can be told to finish. */
  readonly channel?: true;
};

/** Of the next run of a slot that has one. `after`: which ends of that one it follows. */
export type RestartOrder = SpawnRequest & { readonly after: "any-end" | "failure" };

export type ToKeeper =
  /** First message of each service: which folder holds the state, how many FIFO pairs to expect. */
  | { readonly t: "open"; readonly protocol: number; readonly version: string; readonly stateDir: string; readonly captures: number }
  /** It has taken up its work; `problem`: but has no API. */
  | { readonly t: "ready"; readonly problem?: string }
  /** Answers `aside`: it does nothing any more, until it gets a snapshot again. */
  | { readonly t: "aside" }
  | (SpawnRequest & { readonly t: "spawn" })
  /** To be started as soon as the run before it has ended, unless that leaves somebody behind; `exited` says so. Holds until the next snapshot. */
  | (RestartOrder & { readonly t: "prepare" })
  /** It is not to be started by itself any more. */
  | (RunKey & { readonly t: "unprepare" })
  /** To the whole process group of the run. */
  | (RunKey & { readonly t: "signal"; readonly signal: Signal })
  /** Sends the worker of this run the message "drain"; this signal when that can't reach it. */
  | (RunKey & { readonly t: "drain"; readonly signal: StopSignal })
  /** The service's memory of a process, opaque to the keeper; it travels in one array with the commands it belongs to. "" deletes it. */
  | { readonly t: "note"; readonly id: string; readonly note: string }
  /** From now on the output of this run goes elsewhere; it is captured even if its record was lost. */
  | (RunKey & { readonly t: "route"; readonly capture: CaptureSpec })
  /** The `exited` or `failed` of this run has been dealt with. */
  | (RunKey & { readonly t: "ack" })
  | { readonly t: "logger"; readonly message: ToLogger }
  /** Answered by `synced` once all before it is written down and done. */
  | { readonly t: "sync"; readonly number: number }
  /** Whether a balancer is wanted. What it serves, the service tells it itself. */
  | { readonly t: "balancer"; readonly wanted: boolean }
  /** Listening sockets that runs share are held while they are in this list. */
  | { readonly t: "sockets"; readonly wanted: readonly Listening[] }
  /** Answers `ping`. */
  | { readonly t: "pong" }
  /** The service answers `stop`: it is alive and stops everything in order. */
  | { readonly t: "stopping" }
  /** Everything is stopped: the keeper ends with this exit code. */
  | { readonly t: "end"; readonly code: number };

export type RunningRun = RunKey & { readonly pid: number; readonly startTime: string; readonly since: number };

export type SpawnedReport = Omit<RunningRun, "startTime"> & { readonly t: "spawned" };

export type ExitedReport = RunKey & {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: string | null;
  /** It ended while nobody was its parent: code and signal are not known. */
  readonly unknown: boolean;
  /** Somebody of its process group still lives. */
  readonly survivors: boolean;
  /** The next run, which was prepared, is being started. */
  readonly followed?: true;
  /** The kernel has killed somebody of it for want of memory. Only told of runs with a cgroup. */
  readonly outOfMemory?: true;
  /** Monotonic milliseconds of the machine (CLOCK_MONOTONIC), the same in all processes. */
  readonly at: number;
};

/** `errno` as Node names it (ENOENT, EAGAIN …), and which step failed. */
export type FailedReport = RunKey & {
  readonly errno: string;
  readonly step: "cwd" | "program" | "fork" | "run-folder" | "socket";
  readonly message: string;
  readonly at: number;
};

export type FromKeeper =
  /** Answer to `open`: what runs, what ended and was not acknowledged, all notes. */
  | {
      readonly t: "snapshot";
      readonly running: readonly (RunningRun & { readonly captured: boolean })[];
      readonly ended: readonly EndReport[];
      readonly notes: Readonly<Record<string, string>>;
      /** The same for a keeper and those that came in its place by themselves; another when a user has started procman anew. */
      readonly lineage: string;
      /** Folder with a cgroup for each slot, where the machine has them. */
      readonly cgroups?: string;
    }
  /** Another service takes over: drop all work without ending it. */
  | { readonly t: "aside" }
  | { readonly t: "synced"; readonly number: number }
  /** Whoever doesn't answer for half a minute is replaced. */
  | { readonly t: "ping" }
  /** Somebody had removed the state folder; it is there again, without what the service kept in it. */
  | { readonly t: "renewed" }
  /** The state folder can't be used; the service says why and ends. */
  | { readonly t: "refused"; readonly reason: string }
  | ListeningSocket
  | CgroupReport
  | SpawnedReport
  | (FailedReport & { readonly t: "failed" })
  | (ExitedReport & { readonly t: "exited" })
  | { readonly t: "logger"; readonly message: FromLogger }
  /** SIGTERM or SIGINT to the keeper. */
  | { readonly t: "stop"; readonly signal: string }
  /** SIGHUP or SIGUSR1 to the keeper, handed on. */
  | { readonly t: "signalled"; readonly signal: string };

/** What a balancer has to say to the keeper that started it: another one lives, and this one ends. */
export type BalancerReportMessage = { readonly t: "other"; readonly pid: number; readonly startTime: string };

/** Messages between service and keeper over Node's IPC channel, always as arrays. */
import type { Inheritance } from "../base/inherited-variables.ts";
import type { AnySignal, StopSignal } from "../base/signals.ts";
import type { CaptureSpec, FromLogger, StyleMessage, ToLogger } from "./logger-protocol.ts";

/** Raised when a message changes its meaning; a keeper refuses a service with another number. */
export const PROTOCOL = 1;

export type EndReport = ({ readonly t: "exited" } & ExitedReport) | ({ readonly t: "failed" } & FailedReport);

/** One run of one slot. `slot` is a process or instance id, with `:2`, `:3` … for overlapping runs. */
export type RunKey = { readonly slot: string; readonly run: number };

export type Signal = AnySignal;

/** Address of a listening TCP socket. */
export type Listening = { readonly hostname: string; readonly port: number };

/** To service and logger: hold the listening socket that comes with this message for a later keeper, or close it again. */
export type ListeningSocket = { readonly t: "keep" | "drop"; readonly address: string };

/** Answers `copy`: the socket comes with it, unless it can't be opened. */
export type SocketCopy = { readonly t: "copy"; readonly address: string };

/** About the first run with `memoryMax` or `cpuQuota`: which folder holds its cgroup, or why there is none. */
export type CgroupReport = { readonly t: "cgroups"; readonly folder?: string; readonly problem?: string };

export type SpawnRequest = RunKey & {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Only what differs from the keeper's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What it gets of the keeper's own environment; absent: all. */
  readonly inherit?: Inheritance;
  /** Absent: the output goes to /dev/null. */
  readonly capture?: CaptureSpec;
  /** Absent: as the keeper itself. */
  readonly as?: { readonly uid?: number; readonly gid?: number };
  /** A descriptor opened for writing, and its file, recreated for this run. */
  readonly notify?: { readonly fd: number; readonly file: string };
  /** A FIFO, recreated for this run, that is its standard input: the run holds both ends, so it never ends. Absent: /dev/null. */
  readonly stdin?: string;
  /** A descriptor opened for writing, and its file, recreated for this run, into which it writes how many clients it has. */
  readonly clients?: { readonly fd: number; readonly file: string };
  /** A descriptor opened for writing, and its FIFO, recreated for this run: what is written while nobody reads is an error (EPIPE). */
  readonly screen?: { readonly fd: number; readonly file: string };
  /** The run gets a listening socket as descriptor 3: the same for all runs with this address. */
  readonly listen?: Listening;
  /** Memory limit of the run and its descendants, enforced by the kernel where cgroups are available. Bytes. */
  readonly memoryMax?: number;
  /** CPU limit, likewise. 100 is one core. */
  readonly cpuQuota?: number;
  /** Set for a Node process with a channel, which gets the message "drain". */
  readonly channel?: true;
  /** Message sent in place of `drain`. */
  readonly farewell?: "shutdown";
};

/** The next run of a slot, given in advance. `after`: which ends of the current run it follows. */
export type RestartOrder = SpawnRequest & { readonly after: "any-end" | "failure" };

export type ToKeeper =
  /** First message of each service: which folder holds the state, how many FIFO pairs to expect, the uid of each process with a `user`. */
  | {
      readonly t: "open";
      readonly protocol: number;
      readonly version: string;
      readonly stateDir: string;
      /** The configuration file; absent: it can't be read now. */
      readonly file?: string;
      readonly captures: number;
      readonly uids?: Readonly<Record<string, number>>;
      /** Before anything is printed. Absent: the configuration can't be read now, or a service of 1.0.0. */
      readonly style?: StyleMessage;
    }
  /** The service supervises; `problem`: why it has no API. */
  | { readonly t: "ready"; readonly problem?: string }
  /** Answers `aside`: it does nothing more, unless it gets a snapshot again. */
  | { readonly t: "aside" }
  | (SpawnRequest & { readonly t: "spawn" })
  /** To be started as soon as the run before it ends, unless that leaves processes behind; `exited` says so. Valid until the next snapshot. */
  | (RestartOrder & { readonly t: "prepare" })
  /** Cancels a `prepare`. */
  | (RunKey & { readonly t: "unprepare" })
  /** To the whole process group of the run, or to its leader alone. */
  | (RunKey & { readonly t: "signal"; readonly signal: Signal; readonly to?: "leader" })
  /** Sends the worker of this run the message "drain", or this signal if its channel is closed. */
  | (RunKey & { readonly t: "drain"; readonly signal: StopSignal; readonly to?: "leader" })
  /** What the service must know after a restart, opaque to the keeper; sent in one array with the commands it belongs to. "" deletes it. */
  | { readonly t: "note"; readonly id: string; readonly note: string }
  /** Changes where the output of this run goes; it is captured even if its record was lost. */
  | (RunKey & { readonly t: "route"; readonly capture: CaptureSpec })
  /** The `exited` or `failed` of this run has been dealt with. */
  | (RunKey & { readonly t: "ack" })
  | { readonly t: "logger"; readonly message: ToLogger }
  /** Answered by `synced` once all messages before it are written and executed. */
  | { readonly t: "sync"; readonly number: number }
  /** Whether a balancer is wanted. The service itself tells it what to serve. */
  | { readonly t: "balancer"; readonly wanted: boolean }
  /** The listening socket of the API comes with this message; `address` as in `apiAddress`. Without it: the API listens nowhere. */
  | { readonly t: "listening"; readonly address?: string }
  /** The shared sockets to keep open; all others are closed. */
  | { readonly t: "sockets"; readonly wanted: readonly Listening[] }
  /** Opens this shared socket, if it isn't open, and sends it once more: the service awaits a client on it. */
  | { readonly t: "copy"; readonly listening: Listening }
  /** Answers `ping`. */
  | { readonly t: "pong" }
  /** The service answers `stop`: it is alive and stops everything gracefully. */
  | { readonly t: "stopping" }
  /** Everything is stopped: the keeper ends with this exit code. */
  | { readonly t: "end"; readonly code: number };

/** Whether it may end a run. */
export function isStop(message: ToKeeper): message is StopMessage {
  return message.t === "signal" || message.t === "drain";
}

export type StopMessage = Extract<ToKeeper, { readonly t: "signal" | "drain" }>;

export type RunningRun = RunKey & { readonly pid: number; readonly startTime: string; readonly since: number };

export type SpawnedReport = Omit<RunningRun, "startTime"> & { readonly t: "spawned" };

export type ExitedReport = RunKey & {
  /** 0: an earlier keeper was killed while it started the run, and no process of it was found. */
  readonly pid: number;
  readonly code: number | null;
  readonly signal: string | null;
  /** When it began; monotonic milliseconds. Absent: not known, or a keeper of 1.0.0. */
  readonly since?: number;
  /** Whether the run ended while adopted, so that code and signal are not known. */
  readonly unknown: boolean;
  /** Some process of its process group is still alive. */
  readonly survivors: boolean;
  /** The next run is being started by its restart order. */
  readonly followed?: true;
  /** The kernel has killed a process of it for lack of memory. Only known of runs with a cgroup. */
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

/** The keeper's version, and its logger, if that has started. */
export type PartsMessage = {
  readonly t: "parts";
  readonly keeper: string;
  readonly logger?: { readonly pid: number; readonly version: string };
};

export type FromKeeper =
  /** Answer to `open`: what runs, what ended and was not acknowledged, all notes. */
  | {
      readonly t: "snapshot";
      readonly running: readonly (RunningRun & { readonly captured: boolean })[];
      readonly ended: readonly EndReport[];
      readonly notes: Readonly<Record<string, string>>;
      /** The session: the same for a keeper and those that replaced it by failover; another when a user has started procman. */
      readonly lineage: string;
      /** The keeper takes the listening socket of the API (`listening`) and gives it to each later service. A service of 1.0.0 asks. */
      readonly keepsApi: true;
      /** The keeper answers `copy`. Absent: a keeper of 1.0.0. */
      readonly copies?: true;
      /** For the markers of runs. */
      readonly markerKey: string;
      /** Folder with a cgroup for each slot, where the machine has them. */
      readonly cgroups?: string;
    }
  /** After each snapshot, and when another logger has started. */
  | PartsMessage
  /** Another service takes over: drop all work, but end no process. */
  | { readonly t: "aside" }
  | { readonly t: "synced"; readonly number: number }
  /** A service that doesn't answer for half a minute is replaced. */
  | { readonly t: "ping" }
  /** The state folder was removed and recreated, without what the service kept in it. */
  | { readonly t: "renewed" }
  /** The state folder can't be used; the service says why and ends. */
  | { readonly t: "refused"; readonly reason: string }
  | ListeningSocket
  | SocketCopy
  | CgroupReport
  | SpawnedReport
  | (FailedReport & { readonly t: "failed" })
  | (ExitedReport & { readonly t: "exited" })
  | { readonly t: "logger"; readonly message: FromLogger }
  /** SIGTERM or SIGINT to the keeper. */
  | { readonly t: "stop"; readonly signal: string }
  /** SIGHUP to the keeper: the service reloads its configuration. */
  | { readonly t: "signalled"; readonly signal: string };

/** From a balancer to the keeper that started it: another balancer is alive, so this one ends. */
export type BalancerReportMessage = { readonly t: "other"; readonly pid: number; readonly startTime: string };

/** Records that `Control` returns. Times are ISO 8601 in UTC; durations and sizes name their unit; members without a value are absent. */
import type { LogEntry } from "../../../generated/records.ts";
import type { ErrorPlace } from "../base/errors.ts";

export type {
  BackendRecord,
  BalancerRecord,
  FlushRecord,
  InputRecord,
  LogEntry,
  LogSubmission,
  MemoryRecord,
  MetricPoint,
  MissedRecord,
  ProcessRecord,
  RunRecord,
  ScaleRecord,
  SocketRecord,
  TelemetryReport,
} from "../../../generated/records.ts";

/** `skipped`: it waits for a process that has failed permanently. `mixed`: the instances of a cluster have different statuses. */
export const STATUSES = [
  "created",
  "waiting",
  "skipped",
  "starting",
  "running",
  "stopping",
  "backoff",
  "stopped",
  "asleep",
  "finished",
  "errored",
  "exhausted",
  "mixed",
] as const;

export type Status = (typeof STATUSES)[number];

/** What each status says, and what follows it; for the docs. */
export const STATUS_MEANINGS: Readonly<Record<Status, readonly [meaning: string, next: string]>> = {
  created: ["it was never started", "a start"],
  waiting: ["it waits for processes that it [depends on](processes.md#dependencies)", "`starting`, `skipped`"],
  skipped: [
    "it waits for a process that [has failed permanently](processes.md#dependencies)",
    "a start of that process",
  ],
  starting: ["it is being started, or its [hook](processes.md#hooks) `beforeStart` runs", "`running`, `errored`"],
  running: [
    "it runs; its record also says whether it is [ready and healthy](#ready-and-healthy)",
    "by policy when it ends; `stopping`",
  ],
  stopping: [
    "it is being stopped, or its [hook](processes.md#hooks) `afterStop` runs",
    "`stopped`, `starting`, by policy",
  ],
  backoff: ["it is restarted after a delay", "`starting`"],
  stopped: ["an operator or its schedule has stopped it", "a start"],
  asleep: ["it has no client, and [its next one starts it](../guide/sleep.md)", "`starting`, `waiting`; `stopped`"],
  finished: ["it exited with code 0, or with one of `successExitCodes`", "a start, its schedule"],
  errored: ["it failed, or could not be started", "a start, its schedule"],
  exhausted: ["its restarts are used up", "a start, its schedule"],
  mixed: ["of a cluster: its instances have different states", "that of its instances"],
};

/** The address of a running procman: content of its `endpoint.json`. */
export type Endpoint = {
  readonly hostname: string;
  readonly port: number;
  /** Pid and start time of the service: the endpoint of a dead service is invalid. */
  readonly pid: number;
  readonly startTime: string;
  readonly keeper: number;
  readonly version: string;
  /** Why the API doesn't listen on its port (it is taken, say); the service runs without it. */
  readonly problem?: string;
  /** Path of the Unix socket; absent: the folder takes no socket. */
  readonly socket?: string;
  /** The configuration wants no port. */
  readonly isOff?: true;
  /** The port speaks TLS. */
  readonly tls?: true;
};

/** An error (RFC 9457). */
export type ProblemRecord = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  /** All problems of an invalid input. */
  readonly problems?: readonly ErrorPlace[];
  /** Processes and instances that have failed, or are not up in time. */
  readonly processes?: readonly string[];
  /** How many bytes were taken, with `input-full`. */
  readonly taken?: number;
};

export const SEVERITIES = ["debug", "info", "warn", "error"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** Source of a log entry: output of a process, its lifecycle, a request, a submission (`log`), a plugin, procman itself. */
export const CATEGORIES = ["stdout", "stderr", "lifecycle", "api", "log", "plugin", "service"] as const;

export type Category = (typeof CATEGORIES)[number];

export type LogQuery = {
  /** Processes, instances or clusters; absent or empty: all. */
  readonly processes?: readonly string[];
  /** At least this severe, by what a line says, else by its stream. */
  readonly severity?: Severity;
  readonly categories?: readonly Category[];
  /** Milliseconds since 1970, from inclusive, to exclusive. */
  readonly from?: number;
  readonly to?: number;
  /** A part of the text, ignoring case. */
  readonly search?: string;
  /** Conditions on fields of JSON lines, such as `status>=500` or `req.id=7`; all must hold. */
  readonly where?: readonly string[];
  /** Regular expressions in the syntax of RE2; each must match a part of the text. */
  readonly regex?: readonly string[];
  /** 1 to 10000, default 100. A page has fewer if they have more than 4 MiB of text; `next` gives the rest. */
  readonly limit?: number;
  /** Cursor of the previous page: continues after it without gap or repeat. */
  readonly cursor?: string;
  /** Default `desc`: newest first. */
  readonly order?: "asc" | "desc";
};

export type LogPage = {
  readonly entries: readonly LogEntry[];
  /** Cursor of the next page; absent: there is none now. */
  readonly next?: string;
};

/** Item of a followed log: an entry, or a gap for what the reader was too slow for; `cursor`: where to continue. */
export type LogItem =
  | { readonly type: "entry"; readonly entry: LogEntry; readonly cursor: string }
  | { readonly type: "gap"; readonly bytes: number; readonly cursor: string };

/** Milliseconds since 1970; `stepSeconds`: points within this time are combined into one. */
export type MetricQuery = { readonly from?: number; readonly to?: number; readonly stepSeconds?: number };

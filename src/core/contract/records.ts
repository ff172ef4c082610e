/** Records that `Control` returns. Times are ISO 8601 in UTC; durations and sizes name their unit; members without a value are absent. */
import type { ErrorPlace } from "../base/errors.ts";
import type { StatusCause } from "./causes.ts";

/** `skipped`: it waits for a process that has failed for good. `mixed`: the instances of a cluster have different statuses. */
export const STATUSES = [
  "created",
  "waiting",
  "skipped",
  "starting",
  "running",
  "stopping",
  "backoff",
  "stopped",
  "finished",
  "errored",
  "exhausted",
  "mixed",
] as const;

export type Status = (typeof STATUSES)[number];

/** What each status says, and what follows it; for the docs. */
export const STATUS_MEANINGS: Readonly<Record<Status, readonly [meaning: string, next: string]>> = {
  created: ["it was never started", "a start"],
  waiting: ["it waits for processes that it [depends on](dependencies.md)", "`starting`, `skipped`"],
  skipped: ["it waits for a process that [has failed for good](dependencies.md)", "a start of that process"],
  starting: ["it is being started, or its [hook](hooks.md) `beforeStart` runs", "`running`, `errored`"],
  running: [
    "it runs; its record also says whether it is [ready and healthy](health.md)",
    "by policy when it ends; `stopping`",
  ],
  stopping: ["it is being stopped, or its [hook](hooks.md) `afterStop` runs", "`stopped`, `starting`, by policy"],
  backoff: ["it is restarted after a delay", "`starting`"],
  stopped: ["an operator or its schedule has stopped it", "a start"],
  finished: ["it exited with code 0, or with one of `successExitCodes`", "a start, its schedule"],
  errored: ["it failed, or could not be started", "a start, its schedule"],
  exhausted: ["its restarts are used up", "a start, its schedule"],
  mixed: ["of a cluster: its instances have different states", "that of its instances"],
};

export type ProcessRecord = {
  readonly id: string;
  /** `group`: what answers for `group:NAME`. */
  readonly type: "process" | "worker" | "cluster" | "group";
  readonly status: Status;
  readonly blocked: boolean;
  /** Set if the process, or each instance of the cluster, starts only by request, also after a shutdown or a reboot. */
  readonly disabled?: true;
  readonly pid?: number;
  /** Number of its latest run, from 1; while runs overlap, of the latest that isn't over. */
  readonly run?: number;
  /** With `overrun`: the runs that are not over, oldest first. `pid`, `run` and `started` are those of the last one. */
  readonly runs?: readonly RunRecord[];
  /** Restarts since the count was last cleared. */
  readonly restarts: number;
  /** How the last run ended. */
  readonly code?: number;
  readonly signal?: string;
  readonly started?: string;
  /** End of the last run, while the process doesn't run. */
  readonly exited?: string;
  /** Time of the last change of its state. */
  readonly updated?: string;
  readonly nextRun?: string;
  readonly nextTerminate?: string;
  readonly nextRestart?: string;
  /** Time zone of its schedules, if one is configured. */
  readonly timeZone?: string;
  /** Scheduled starts that were missed while procman was away, until the next one comes. */
  readonly missed?: MissedRecord;
  /** While it runs: whether it is ready; of a cluster: whether any of its instances is, and gets connections. */
  readonly ready?: boolean;
  /** While it runs and has health checks. */
  readonly healthy?: boolean;
  /** One sentence: why it is in this state. */
  readonly reason: string;
  /** The data of `reason`, for a process or an instance. */
  readonly cause?: StatusCause;
  /** CPU use of the process and all its descendants, as last sampled. 100 is one core. */
  readonly cpuPercent?: number;
  /** Private memory: without memory that may be shared. */
  readonly memoryBytes?: number;
  /** With shared memory (RSS); Linux. */
  readonly residentBytes?: number;
  /** The last report that it sent. */
  readonly telemetry?: TelemetryReport;
  /** Number from 1, for an instance of a cluster. */
  readonly instance?: number;
  readonly cluster?: string;
  /** Groups that it is in. */
  readonly groups?: readonly string[];
  readonly dependsOn?: readonly {
    readonly process: string;
    readonly condition: "started" | "ready" | "finished" | "completed";
  }[];
  /** The dependencies it waits for before it starts, such as `db (ready)`. */
  readonly waitsFor?: string;
  /** While it is skipped: the ids from its dependency to the one that has failed for good. */
  readonly skippedBy?: readonly string[];
  readonly instances?: readonly ProcessRecord[];
  /** What the load balancer knows of an instance behind it. */
  readonly backend?: BackendRecord;
  /** Whether a running instance with a shared socket was seen to accept from that. */
  readonly accepting?: boolean;
  /** The load balancer's work for a cluster with a common port. */
  readonly balancer?: BalancerRecord;
  /** The listening socket that the instances of a cluster share. */
  readonly socket?: SocketRecord;
};

/** `madeUpFor`: the process is started once for them. */
export type MissedRecord = {
  readonly times: number;
  readonly first: string;
  readonly last: string;
  readonly madeUpFor: boolean;
};

/** A run that is not over. `pid` and `started` are absent until it has a process. */
export type RunRecord = { readonly run: number; readonly pid?: number; readonly started?: string };

/** The load balancer's view of an instance; counted since the balancer was started. */
export type BackendRecord = {
  readonly port: number;
  /** Whether it gets connections. */
  readonly accepting: boolean;
  /** Open now. */
  readonly connections: number;
  readonly totalConnections: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Connections that it refused; each client got another instance. */
  readonly refused: number;
};

export type BalancerRecord = {
  readonly hostname: string;
  readonly port: number;
  readonly strategy: string;
  /** Why the port isn't open; the balancer keeps trying. */
  readonly problem?: string;
  /** Clients that wait for an instance. */
  readonly waiting: number;
  /** Clients that waited too long, or were turned away for lack of file descriptors. */
  readonly rejected: number;
};

/** Open while any of the instances runs or starts. */
export type SocketRecord = { readonly hostname: string; readonly port: number };

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
};

export const SEVERITIES = ["debug", "info", "warn", "error"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** Source of a log entry: output of a process, its lifecycle, a request, a submission (`log`), a plugin, procman itself. */
export const CATEGORIES = ["stdout", "stderr", "lifecycle", "api", "log", "plugin", "service"] as const;

export type Category = (typeof CATEGORIES)[number];

/** One line. Output has severity `info` (stdout) or `error` (stderr). */
export type LogEntry = {
  readonly time: string;
  /** Id of the process or instance; absent: procman's own. */
  readonly process?: string;
  readonly instance?: number;
  readonly run?: number;
  readonly severity: Severity;
  readonly category: Category;
  /** Without the line end. */
  readonly text: string;
};

export type LogQuery = {
  /** Processes, instances or clusters; absent or empty: all. */
  readonly processes?: readonly string[];
  /** At least this severe. */
  readonly severity?: Severity;
  readonly categories?: readonly Category[];
  /** Milliseconds since 1970, from inclusive, to exclusive. */
  readonly from?: number;
  readonly to?: number;
  /** A part of the text, ignoring case. */
  readonly search?: string;
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

/** What a flush of the logs has done. */
export type FlushRecord = {
  readonly processes: readonly string[];
  /** Whether the stored output of all processes was deleted. */
  readonly store: boolean;
  /** Log files that were emptied. */
  readonly files: readonly string[];
  /** What was not emptied, and why. */
  readonly kept: readonly { readonly file: string; readonly reason: string }[];
};

/** Body of `POST /log`. */
export type LogSubmission = { readonly text: string; readonly severity?: Severity; readonly process?: string };

/** `process.memoryUsage()` of a Node process. Bytes. */
export type MemoryRecord = {
  readonly rss: number;
  readonly heapTotal: number;
  readonly heapUsed: number;
  readonly external: number;
};

/** Body of `POST /telemetry`. Sizes are bytes. */
export type TelemetryReport = {
  readonly process: string;
  readonly memory: MemoryRecord;
  readonly cwd: string;
  /** ISO 8601. */
  readonly sent: string;
  readonly metrics?: Readonly<Record<string, number>>;
};

/** CPU and memory of a process and all its descendants at one time. */
export type MetricPoint = {
  readonly time: string;
  /** 100 is one core. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly processes: number;
};

/** Milliseconds since 1970; `stepSeconds`: points within this time are combined into one. */
export type MetricQuery = { readonly from?: number; readonly to?: number; readonly stepSeconds?: number };

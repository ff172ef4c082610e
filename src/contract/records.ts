/** What the control surface shows. Times are ISO 8601 in UTC; durations and sizes name their unit; what has no value is absent. */
import type { ErrorPlace } from "../base/errors.ts";

/** `mixed`: the instances of a cluster don't agree. */
export const STATUSES = [
  "created",
  "waiting",
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

export type ProcessRecord = {
  readonly id: string;
  readonly type: "process" | "worker" | "cluster";
  readonly status: Status;
  readonly blocked: boolean;
  readonly pid?: number;
  /** Number of its latest run, from 1. */
  readonly run?: number;
  /** Restarts since the count was last cleared. */
  readonly restarts: number;
  /** How the last run ended. */
  readonly code?: number;
  readonly signal?: string;
  readonly started?: string;
  /** End of the last run, while none goes on. */
  readonly exited?: string;
  /** Since when it is in this state. */
  readonly updated?: string;
  readonly nextRun?: string;
  readonly nextTerminate?: string;
  readonly nextRestart?: string;
  /** While it runs: it does its work, as far as is known. */
  readonly ready?: boolean;
  /** While it runs and is asked for. */
  readonly healthy?: boolean;
  /** One sentence: why it is in this state. */
  readonly reason: string;
  /** Of the process with all its descendants, as last sampled. 100 is one core. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
  /** The last that it sent about itself. */
  readonly telemetry?: TelemetryReport;
  /** Number from 1, for an instance of a cluster. */
  readonly instance?: number;
  readonly cluster?: string;
  readonly dependsOn?: readonly { readonly process: string; readonly condition: "started" | "ready" | "finished" }[];
  /** What must be the case before it starts, as `db (ready)`. */
  readonly waitsFor?: string;
  readonly instances?: readonly ProcessRecord[];
  /** Of an instance behind the load balancer. */
  readonly backend?: BackendRecord;
  /** Of a cluster with a common port. */
  readonly balancer?: BalancerRecord;
  /** Of a cluster whose instances share a listening socket. */
  readonly socket?: SocketRecord;
};

/** What the load balancer says of an instance; counted since the load balancer was started. */
export type BackendRecord = {
  readonly port: number;
  /** It gets connections. */
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
  /** Why nobody listens there; it is tried again and again. */
  readonly problem?: string;
  /** Clients that wait for an instance. */
  readonly waiting: number;
  /** Clients that waited in vain, or were turned away for want of file descriptors. */
  readonly rejected: number;
};

/** Open while any of the instances runs, or is about to. */
export type SocketRecord = { readonly hostname: string; readonly port: number };

/** Where a running procman is reached, as its `endpoint.json` says. */
export type Endpoint = {
  readonly hostname: string;
  readonly port: number;
  /** Of the service, and when that started: an endpoint of a dead one is no endpoint. */
  readonly pid: number;
  readonly startTime: string;
  readonly keeper: number;
  readonly version: string;
  /** Why nothing listens there, as when the port is taken; the service runs all the same. */
  readonly problem?: string;
};

/** An error as RFC 9457 has it. */
export type ProblemRecord = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  /** Of an input that is not valid: everything that is wrong with it. */
  readonly problems?: readonly ErrorPlace[];
};

export const SEVERITIES = ["debug", "info", "warn", "error"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** Where a log entry comes from: output of a process, its life, a request, what somebody sent (`log`), procman itself. */
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
  /** A part of the text, upper and lower case alike. */
  readonly search?: string;
  /** 1 to 10000, default 100; a page of more than 4 MiB of text has fewer, and a `next` one. */
  readonly limit?: number;
  /** Of the page before: goes on after it without gap or repeat. */
  readonly cursor?: string;
  /** Default `desc`: newest first. */
  readonly order?: "asc" | "desc";
};

export type LogPage = {
  readonly entries: readonly LogEntry[];
  /** Cursor of the next page; absent: there is none now. */
  readonly next?: string;
};

/** What a follower gets: entries with where to go on from, or how much it has missed because it was too slow. */
export type LogItem =
  | { readonly type: "entry"; readonly entry: LogEntry; readonly cursor: string }
  | { readonly type: "gap"; readonly bytes: number; readonly cursor: string };

/** Body of `POST /log`. */
export type LogSubmission = { readonly text: string; readonly severity?: Severity; readonly process?: string };

/** Of a Node process, as it sees itself. Bytes. */
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

/** CPU and memory of a process with all its descendants at one time. */
export type MetricPoint = {
  readonly time: string;
  /** 100 is one core. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly processes: number;
};

/** Milliseconds since 1970; `stepSeconds`: points are put together to one each so long. */
export type MetricQuery = { readonly from?: number; readonly to?: number; readonly stepSeconds?: number };

/** Why a run ended. */
export const CAUSES = [
  "exit",
  "signal",
  "out-of-memory",
  "unstartable",
  "timeout",
  "unready",
  "unhealthy",
  "memory",
  "terminate",
  "watch",
  "operator",
  "shutdown",
  "unknown",
] as const;

/** One end of a run: what happened, why, and what follows. */
export type Incident = {
  readonly time: string;
  readonly process: string;
  readonly run: number;
  readonly cause: (typeof CAUSES)[number];
  /** One sentence. */
  readonly reason: string;
  readonly code?: number;
  readonly signal?: string;
  readonly pid?: number;
  readonly started?: string;
  /** Who asked for it: the consumer of the token. */
  readonly by?: string;
  /** What is done now: "restart 2 of 5 in 400 ms", "none: it was stopped". */
  readonly decision: string;
  /** The last lines, oldest first, at most 50. */
  readonly lines: readonly LogEntry[];
  /** The last minutes before it. */
  readonly metrics: readonly MetricPoint[];
  /** So many ends just before it came too fast to be written down one by one. */
  readonly leftOut?: number;
};

/** The commands of a running procman: one interface, implemented in process and over HTTP. */
import type { ProcessInput, Scaling, Signalling } from "../../../generated/records.ts";
import type { DefinitionRecord } from "./definition-record.ts";
import type { DeploymentRecord, DeployOrder, ReleaseRecord } from "./deployment-record.ts";
import type { EventRecord, EventType } from "./event-record.ts";
import type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "./history-record.ts";
import type { PlanRecord } from "./plan.ts";
import type {
  FlushRecord,
  InputRecord,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  TelemetryReport,
} from "./records.ts";
import type { RolloutMark } from "./rollout-mark.ts";
import type { RolloutOrder, RolloutRecord, RolloutStep } from "./rollout-record.ts";
import type { Incident, RunPage, RunQuery } from "./run-summary.ts";
import type { ScreenItem } from "./screen.ts";
import type { StateRecord } from "./state-record.ts";
import type { TokenLimits, TokenScope } from "./token-claims.ts";

export type { ProcessInput, Scaling, Signalling } from "../../../generated/records.ts";

export const ACTIONS = ["start", "stop", "restart", "block", "unblock", "enable", "disable"] as const;

export type Action = (typeof ACTIONS)[number];

/** The sender of a request, for audit lines and incidents. */
export type Caller = {
  /** Consumer of the token; `library` in process. */
  readonly consumer: string;
  /** Present for the token of a process: it is valid for that process only. */
  readonly process?: string;
  /** Processes and groups that a limited token sees and acts on. */
  readonly limits?: TokenLimits;
  /** The Unix user behind a command, if procman runs as another one. */
  readonly user?: string;
  /** Scopes of its token. Absent: it may do everything. */
  readonly scopes?: readonly TokenScope[];
  /** The request came by the Unix socket, which procman's own user alone can open, and not by a page. */
  readonly isOwner?: true;
  /** The rollout over several hosts of which the request is a step. */
  readonly rollout?: RolloutMark;
};

/** `"cli" (alice)` */
export function callerText({ consumer, user, rollout }: Caller): string {
  return `"${consumer}"${user === undefined ? "" : ` (${user})`}${rollout === undefined ? "" : `, rollout ${rollout.id}`}`;
}

/** The sender of a request that needs no token; it doesn't make procman take samples more often. */
export const ANONYMOUS: Caller = { consumer: "" };

export type ActOptions = {
  /** Resolves when the target state is reached; rejects with `wait-timeout` after this many seconds. Absent: resolves at once. */
  readonly waitSeconds?: number;
  /** A restart of a cluster: all instances at once, instead of one after another. */
  readonly hard?: boolean;
  /** A start: first what the process depends on, as far as it doesn't run, also indirectly. */
  readonly withDependencies?: boolean;
  /** Ends the waiting; the action continues. */
  readonly signal?: AbortSignal;
};

export type PlanOptions = {
  /** Name of a profile of the file; `null`: none; absent: the active one. */
  readonly profile?: string | null;
};

export function profileText({ profile }: PlanOptions): string {
  if (profile === undefined) return "";
  return profile === null ? " without a profile" : ` with the profile ${JSON.stringify(profile)}`;
}

export function scalingText({ instances, by }: Scaling): string {
  if (instances !== undefined) return ` to ${instances}`;
  return by === undefined ? "" : ` by ${by > 0 ? "+" : ""}${by}`;
}

export type RollbackOptions = Pick<ActOptions, "waitSeconds" | "signal"> & {
  /** Replaces included files with changes that are not committed, too, and takes an entry of another machine. */
  readonly force?: boolean;
  /** Changes nothing, and resolves with what it would do. */
  readonly dryRun?: boolean;
};

/** Which lines of a deployment, and how long to wait for them. */
export type DeploymentQuery = Pick<ActOptions, "waitSeconds" | "signal"> & {
  /** `next` of the answer before; default: 0. */
  readonly after?: number;
};

export interface Control {
  processes(): Promise<readonly ProcessRecord[]>;
  /** Rejects with `process-unknown`. */
  process(id: string): Promise<ProcessRecord>;
  /** How a process is run, without secrets: of a cluster, a group or `all` each. Rejects with `process-unknown`. */
  definitions(id: string): Promise<readonly DefinitionRecord[]>;
  state(): Promise<StateRecord>;
  /** A process, an instance, a cluster, a group (`group:NAME`) or `all`. Rejects with `process-unknown`, `process-blocked`, `process-running`, `process-leaving`, `process-foreign`, `roll-running`; while it waits, `process-failed`, `roll-failed`, `wait-timeout`. */
  act(id: string, action: Action, options?: ActOptions): Promise<ProcessRecord>;
  /** Gives a cluster another number of instances, until the next reload. Rejects with `process-unknown`, `scale-refused`, `process-blocked`, `reload-running`, `roll-running`, `configuration-invalid`; while it waits, `process-failed`, `wait-timeout`. */
  scale(id: string, scaling: Scaling, options?: ActOptions): Promise<ProcessRecord>;
  /** Signals the runs of a process, an instance, a cluster, a group or `all`. Rejects with `process-unknown`, `process-not-running`, `reload-unsupported`, `input-invalid`. */
  signal(id: string, signalling: Signalling): Promise<ProcessRecord>;
  /** Writes to the standard input of a process or an instance, which has `stdin: true` or `tty: true`: all of it, or it rejects. Lines of up to 4096 bytes are taken whole or not at all. Rejects with `process-unknown`, `process-not-running`, `input-refused`, `input-full` (`taken` bytes were taken), `input-invalid`. */
  input(id: string, input: ProcessInput): Promise<InputRecord>;
  /** What a process or an instance with `tty` prints on its terminal from now on, also in its next runs. Rejects with `process-unknown`, `input-refused`, `events-lost` (the reader was too slow). */
  screen(id: string, signal: AbortSignal): AsyncIterable<ScreenItem>;
  /** What a reload would do, also with another profile. Rejects with `configuration-invalid` (all its problems), `configuration-missing`. */
  plan(options?: PlanOptions): Promise<PlanRecord>;
  /** Applies the changed configuration file, or another profile of it, which stays active. Rejects as `plan`, with `reload-running`; while it waits, `reload-failed`, `wait-timeout`. */
  reload(options?: ActOptions & PlanOptions): Promise<PlanRecord>;
  /** The configurations that were applied, newest first. */
  history(limit?: number): Promise<readonly HistoryEntry[]>;
  /** One of them with its texts. `entry`: a number, `active` or `previous`. Rejects with `history-unknown`. */
  historyEntry(entry: string): Promise<HistoryDetail>;
  /** How two of them differ; without `to`, one and the files as they are now. Rejects with `history-unknown`, `history-damaged`. */
  diff(from: string, to?: string): Promise<HistoryDiff>;
  /** Puts the texts of an earlier configuration back into its files, and applies it. `to` absent: the one in force, if the files differ from it, else the one before. Rejects as `diff` and `reload`, and with `rollback-refused`. */
  rollback(to?: string, options?: RollbackOptions): Promise<RollbackRecord>;
  /** The releases that are there, newest first. Rejects with `deploy-refused`. */
  releases(): Promise<readonly ReleaseRecord[]>;
  /** Begins a deployment: makes a release and puts it in use, or only says what that would do. Rejects with `deploy-refused`, `deploy-running`, `release-unknown`. */
  deploy(order: DeployOrder): Promise<DeploymentRecord>;
  /** How a deployment goes on, or has ended. `id`: a number, or `latest`. With `waitSeconds`: when there is something new, or it is over. Rejects with `release-unknown`. */
  deployment(id: string, query?: DeploymentQuery): Promise<DeploymentRecord>;
  /** The rollout over several hosts that this one takes part in, or the last one. With `waitSeconds`: when it has changed. Rejects with `rollout-unknown`. */
  rollout(query?: DeploymentQuery): Promise<RolloutRecord>;
  /** Takes part in a rollout: until it is over, another one is refused. Rejects with `rollout-running`, `rollout-refused`. */
  joinRollout(order: RolloutOrder): Promise<RolloutRecord>;
  /** Begins the next step of it. Rejects with `rollout-unknown`, `rollout-refused`. */
  stepRollout(step: RolloutStep): Promise<RolloutRecord>;
  /** Begins the shutdown of everything. */
  terminate(): Promise<void>;

  /** One page of the stored log. */
  logs(query: LogQuery): Promise<LogPage>;
  /** The stored entries from `query.cursor` or `query.from` on (absent: the last `query.limit`), then new ones, without a gap; oldest first. */
  follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem>;
  /** Empties the log files of these processes (also instances, clusters, groups); without ids, or with `all`, also the stored log. Rejects with `process-unknown`, `flush-refused`, `log-unavailable`. */
  flush(ids?: readonly string[]): Promise<FlushRecord>;
  /** Adds an entry to the log. */
  log(submission: LogSubmission): Promise<LogEntry>;

  telemetry(report: TelemetryReport): Promise<void>;
  /** Rejects with `process-unknown`. */
  metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]>;
  /** Newest first. Rejects with `process-unknown`. */
  incidents(id: string, limit?: number): Promise<readonly Incident[]>;
  /** One page of its runs, newest first: those that are not over, and those whose ends are recorded. Rejects with `process-unknown`, `input-invalid`. */
  runs(id: string, query?: RunQuery): Promise<RunPage>;
  /** All numbers in the Prometheus text format. */
  prometheus(): Promise<string>;
  /** Events from now on; with `after` (id of an event) also those since then that are still known. `types` absent: all but `log`. */
  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord>;
}

/** The names of the methods, for those who pass calls on. */
const NAMED: Readonly<Record<keyof Control, true>> = {
  processes: true,
  process: true,
  definitions: true,
  state: true,
  act: true,
  scale: true,
  signal: true,
  input: true,
  screen: true,
  plan: true,
  reload: true,
  history: true,
  historyEntry: true,
  diff: true,
  rollback: true,
  releases: true,
  deploy: true,
  deployment: true,
  rollout: true,
  joinRollout: true,
  stepRollout: true,
  terminate: true,
  logs: true,
  follow: true,
  flush: true,
  log: true,
  telemetry: true,
  metrics: true,
  incidents: true,
  runs: true,
  prometheus: true,
  events: true,
};

export const METHODS = Object.keys(NAMED) as readonly (keyof Control)[];

/** Records of the API, and bodies of requests. Made by scripts/api-docs.ts of src/core/contract/record-schemas.ts. */

export type RunRecord = {
  /** Number of the run. */
  readonly run: number;
  /** Absent until it has a process. */
  readonly pid?: number;
  /** Start of the run. */
  readonly started?: string;
};

/** Scheduled starts that were missed while procman was not running, until the next one comes. */
export type MissedRecord = {
  /** Number of missed starts, counted up to 1000. */
  readonly times: number;
  /** The first of them. */
  readonly first: string;
  /** The last of them. */
  readonly last: string;
  /** Whether the process is started once for them (`catchUp`). */
  readonly madeUpFor: boolean;
};

/** Who or what asked for the end. */
export type RequestRecord = {
  /** `configuration`: it has changed. `removed`: the file no longer has the process. `scaled`: its cluster has fewer instances now. */
  readonly kind: "consumer" | "configuration" | "removed" | "scaled" | "dependency" | "files" | "shutdown";
  /** The consumer of the token. */
  readonly by?: string;
  /** Of `dependency`: the process that was started again. */
  readonly process?: string;
  /** Of `files`: the changed ones, at most the first of many. */
  readonly files?: readonly string[];
  /** Of `files`: their number. */
  readonly count?: number;
  /** Of `scaled`: instances before. */
  readonly from?: number;
  /** Of `scaled`: instances after. Of `removed`: those of its cluster in the file. */
  readonly to?: number;
  /** Of `shutdown`: why procman ended. Of `scaled`: why its load or a schedule asked for fewer. */
  readonly reason?: string;
};

/** How it ended; `reason` says it in words. */
export type EndRecord = {
  /** Why it ended. */
  readonly kind: "exit" | "signal" | "out-of-memory" | "unstartable" | "timeout" | "unready" | "unhealthy" | "memory" | "terminate" | "watch" | "idle" | "operator" | "shutdown" | "unknown";
  /** Exit code. */
  readonly code?: number;
  /** Signal that ended it. */
  readonly signal?: string;
  /** Why it could not be started. */
  readonly message?: string;
  /** procman was killed while it started the run. */
  readonly unseen?: true;
  /** The kernel killed a process of it for lack of memory. */
  readonly outOfMemory?: true;
  /** A port that another program had. */
  readonly port?: { readonly port: number; readonly program: string; readonly process?: string; readonly own?: number; readonly chosen?: true };
  /** Its core dump. */
  readonly core?: { readonly file?: string; readonly program?: string; readonly command?: string };
  /** Processes of it that can't be ended. */
  readonly left?: number;
  /** Time from its start to its end. */
  readonly afterMs?: number;
  /** Of `timeout` and `unready`: the time that it had. */
  readonly limitMs?: number;
  /** Of `unready`, `unhealthy` and `memory`: what was found last. */
  readonly problem?: string;
  /** Who or what asked for the end. */
  readonly request?: RequestRecord;
};

/** What follows; `decision` says it in words. */
export type DecisionRecord = {
  /** `restart`: by the policy. `start`: it was asked for. `wait`: it starts when its dependencies are up. `stop`: the next run had begun, and is stopped. */
  readonly kind: "restart" | "start" | "wait" | "stop" | "none";
  /** Number of the restart. */
  readonly restart?: number;
  /** Restarts that the policy allows. */
  readonly limit?: number;
  /** Time until the restart; absent: at once. */
  readonly delayMs?: number;
  /** Of `none`. `asleep`: its next client starts it. `permanent`: another attempt would fail in the same way. `option`: of the command. `policy`: it has no restart policy. `instances`: it is unhealthy, and `process` is being restarted or, without that, no other instance is healthy. */
  readonly why?: "stopped" | "asleep" | "finished" | "exhausted" | "blocked" | "permanent" | "option" | "policy" | "failed" | "instances";
  /** With `instances`: the instance that procman restarts. */
  readonly process?: string;
  /** The option of `procman run` because of which it isn't restarted. */
  readonly option?: string;
};

/** Why it is in this state, as data; `reason` says it in words. */
export type StatusCause = {
  /** While it waits: the dependencies that are not met yet. */
  readonly waitsFor?: readonly ({ readonly process: string; readonly condition: "started" | "ready" | "reachable" | "finished" | "completed" })[];
  /** While it is skipped: because of what. */
  readonly skip?: { readonly path: readonly string[]; readonly process: string; readonly end?: EndRecord; readonly next?: DecisionRecord };
  /** While it is being stopped. */
  readonly stop?: { readonly kind: "operator" | "terminate" | "timeout" | "watch" | "idle" | "unready" | "unhealthy" | "memory" | "itself"; readonly phase: "spawning" | "waiting-dependents" | "grace" | "terminate" | "kill" | "cleanup" | "cleanup-kill" | "after-stop"; readonly signal?: string; readonly again?: true; readonly dependents?: readonly string[] };
  /** While it sleeps. */
  readonly sleep?: { readonly since?: string; readonly on?: "connect" | "data"; readonly hostname?: string; readonly port?: number };
  /** The hook that runs. */
  readonly hook?: { readonly name: "beforeStart" | "afterStop"; readonly ms: number };
  /** While it is not ready or not healthy: what was found last. */
  readonly problem?: string;
  /** Why its log files can't be written. */
  readonly logProblem?: string;
  /** Why it gets no connections. */
  readonly connectionProblem?: string;
  /** How it ended; `reason` says it in words. */
  readonly end?: EndRecord;
  /** What follows; `decision` says it in words. */
  readonly next?: DecisionRecord;
};

/** The load balancer's view of an instance; counted since the balancer was started. */
export type BackendRecord = {
  /** Port of the instance. */
  readonly port: number;
  /** Whether it gets connections. */
  readonly accepting: boolean;
  /** Connections that are open now. */
  readonly connections: number;
  /** Connections in total. */
  readonly totalConnections: number;
  /** Bytes from clients. */
  readonly receivedBytes: number;
  /** Bytes to clients. */
  readonly sentBytes: number;
  /** Connections that it refused; each client got another instance. */
  readonly refused: number;
};

/** The load balancer's work for a cluster with a common port. */
export type BalancerRecord = {
  /** Address. */
  readonly hostname: string;
  /** Port. */
  readonly port: number;
  /** How connections are distributed. */
  readonly strategy: string;
  /** Why the port isn't open; the balancer keeps trying. */
  readonly problem?: string;
  /** Clients that wait for an instance. */
  readonly waiting: number;
  /** Clients that waited too long, or were turned away for lack of file descriptors. */
  readonly rejected: number;
};

/** How a cluster with `scale` is scaled. */
export type ScaleRecord = {
  /** Fewest instances now. */
  readonly min: number;
  /** Most instances now. */
  readonly max: number;
  /** Instances that its load needs now, within these bounds. */
  readonly desired: number;
  /** Targets of which the load is not known: it doesn't shrink meanwhile, and grows only by others. */
  readonly unknown?: readonly string[];
  /** It has a number that was asked for by hand. */
  readonly pinned?: true;
  /** The schedule that has set the bounds, as it is written. */
  readonly schedule?: string;
  /** When a schedule sets them next. */
  readonly nextSchedule?: string;
  /** Fewest instances from then on. */
  readonly nextMin?: number;
  /** Most instances from then on. */
  readonly nextMax?: number;
  /** Time zone of its schedules, if one is configured. */
  readonly timeZone?: string;
  /** The latest change by load or schedule. */
  readonly last?: { readonly time: string; readonly from: number; readonly to: number; readonly reason: string };
  /** While it needs more instances, and gets none. */
  readonly refused?: { readonly time: string; readonly wanted: number; readonly reason: string };
};

/** The listening socket that the instances of a cluster share; open while any of them runs or starts. */
export type SocketRecord = {
  /** Address. */
  readonly hostname: string;
  /** Port. */
  readonly port: number;
};

/** A process, an instance of a cluster, or a cluster with its instances. Members without a value are absent. */
export type ProcessRecord = {
  /** Id in the configuration; of an instance `ID-1` … `ID-n`. */
  readonly id: string;
  /** `group`: the answer for `group:NAME`. */
  readonly type: "process" | "worker" | "cluster" | "group";
  /** `mixed`: the instances of a cluster have different statuses. */
  readonly status: "created" | "waiting" | "skipped" | "starting" | "running" | "stopping" | "backoff" | "stopped" | "asleep" | "finished" | "errored" | "exhausted" | "mixed";
  /** Nothing starts it until it is unblocked. */
  readonly blocked: boolean;
  /** It, or each instance of the cluster, starts only by request, even after a shutdown or a reboot. */
  readonly disabled?: true;
  /** Its pid, while it runs. */
  readonly pid?: number;
  /** Number of its latest run, from 1; while runs overlap, of the latest that isn't over. */
  readonly run?: number;
  /** With `overrun`: the runs that are not over, oldest first. `pid`, `run` and `started` are those of the last one. */
  readonly runs?: readonly RunRecord[];
  /** Restarts since the count was last cleared. */
  readonly restarts: number;
  /** Exit code of the last run. */
  readonly code?: number;
  /** Signal that ended the last run, such as `SIGKILL`. */
  readonly signal?: string;
  /** Start of the current run. */
  readonly started?: string;
  /** End of the last run, while the process doesn't run. */
  readonly exited?: string;
  /** Time of the last change of its state. */
  readonly updated?: string;
  /** Next start by its schedule; absent while it is blocked or disabled. */
  readonly nextRun?: string;
  /** Next termination by its schedule. */
  readonly nextTerminate?: string;
  /** Next attempt, after a failure. */
  readonly nextRestart?: string;
  /** Time zone of its schedules, if one is configured. */
  readonly timeZone?: string;
  /** Scheduled starts that were missed while procman was not running, until the next one comes. */
  readonly missed?: MissedRecord;
  /** While it runs: whether it is ready; of a cluster: whether any of its instances is, and gets connections. */
  readonly ready?: boolean;
  /** While it runs: the result of its health checks, if it has any. */
  readonly healthy?: boolean;
  /** Why it is in this state, in one sentence. */
  readonly reason: string;
  /** Why it is in this state, as data; `reason` says it in words. */
  readonly cause?: StatusCause;
  /** CPU use of the process and all its descendants, as last sampled; 100 is one core. */
  readonly cpuPercent?: number;
  /** Private memory of the process and all its descendants; `memoryLimit` is compared with it. */
  readonly memoryBytes?: number;
  /** The most CPU that it gets (`cpuQuota`), in the same unit; of a cluster, the sum. */
  readonly cpuLimitPercent?: number;
  /** `memoryLimit`, or `memoryMax` without one; of a cluster, the sum. Absent: there is no limit. */
  readonly memoryLimitBytes?: number;
  /** Their resident memory (RSS), in which shared memory counts for each process that has it. Linux. */
  readonly residentBytes?: number;
  /** The last report that it sent. */
  readonly telemetry?: TelemetryReport;
  /** Number from 1, for an instance of a cluster. */
  readonly instance?: number;
  /** Id of its cluster. */
  readonly cluster?: string;
  /** Groups that it belongs to. */
  readonly groups?: readonly string[];
  /** It is started by hand and runs to its end; absent: no. */
  readonly task?: boolean;
  /** It takes input, by `POST /processes/{id}/input`; absent: no. */
  readonly input?: true;
  /** It runs on a terminal: `GET /processes/{id}/screen`; absent: no. */
  readonly terminal?: true;
  /** Processes that it waits for before it starts. */
  readonly dependsOn?: readonly ({ readonly process: string; readonly condition: "started" | "ready" | "reachable" | "finished" | "completed" })[];
  /** The dependencies it waits for before it starts, such as `db (ready)`; only while it waits. */
  readonly waitsFor?: string;
  /** For a skipped process: the ids on the way from its dependency to the process that has failed permanently. */
  readonly skippedBy?: readonly string[];
  /** Instances of a cluster. */
  readonly instances?: readonly ProcessRecord[];
  /** Whether a running instance with a shared socket was seen to accept from that. */
  readonly accepting?: boolean;
  /** The load balancer's view of an instance; counted since the balancer was started. */
  readonly backend?: BackendRecord;
  /** The load balancer's work for a cluster with a common port. */
  readonly balancer?: BalancerRecord;
  /** Of `idle`. */
  readonly sleep?: { readonly afterSeconds: number; readonly wakeOn: "connect" | "data"; readonly wakes: number; readonly lastWakeMs?: number; readonly busy?: string; readonly turnedAway?: number };
  /** How a cluster with `scale` is scaled. */
  readonly scale?: ScaleRecord;
  /** The listening socket that the instances of a cluster share; open while any of them runs or starts. */
  readonly socket?: SocketRecord;
} & (
  | { readonly type: "process" | "worker" }
  | { readonly type: "cluster" | "group"; readonly instances: readonly ProcessRecord[] }
);

export type VariableRecord = {
  /** Its name. */
  readonly name: string;
  /** The configuration; a file; a variable of procman's own environment; procman itself. */
  readonly source: "env" | "file" | "variable" | "procman";
  /** References are not replaced. Absent: it may be secret. */
  readonly value?: string;
  /** The file, or the name of the variable. */
  readonly from?: string;
};

/** The process in the configuration file as it is now, without parts of profiles and of what it inherits; absent: the file has no such process, or is not valid. */
export type WrittenPart = {
  /** Absolute path of the file. */
  readonly file: string;
  /** Line on which it begins; the first is 1. */
  readonly line: number;
  /** As it is written, with its comments; `***` stands for each value that may be secret. */
  readonly text: string;
};

/** How a process is run, without secrets. */
export type DefinitionRecord = {
  /** Id of the process or instance. */
  readonly process: string;
  /** Id of its cluster. */
  readonly cluster?: string;
  /** Groups that it belongs to. */
  readonly groups?: readonly string[];
  /** The program and its arguments, as they are executed. */
  readonly argv: readonly string[];
  /** A shell runs the command line; it may become the program, as `exec` does. */
  readonly shell: boolean;
  /** Working directory. */
  readonly cwd: string;
  /** User that it runs as: its name, or its number without a name. */
  readonly user: string;
  /** Unix group, if it is not that of the user. */
  readonly group?: string;
  /** `open`, `terminal`, or the file that is its standard input. Absent: /dev/null. */
  readonly stdin?: string;
  /** File for standard output. */
  readonly stdout?: string;
  /** File for standard error. */
  readonly stderr?: string;
  /** File with its pid. */
  readonly pidFile?: string;
  /** Port of the process or instance. */
  readonly port?: number;
  /** Port of the load balancer, or of the shared socket. */
  readonly commonPort?: number;
  /** Variables beside those that it inherits. */
  readonly env: readonly VariableRecord[];
  /** Their variables are not shown. */
  readonly envFiles: readonly string[];
  /** Such as `db (ready)`. */
  readonly dependsOn: readonly string[];
  /** When it starts. */
  readonly start: string;
  /** When it is restarted. */
  readonly restart: string;
  /** How it is stopped. */
  readonly stop: string;
  /** Such as `beforeStart: npm run migrate (at most 60 s)`. */
  readonly hooks?: readonly string[];
  /** What a reload of the configuration file would do to it; absent: nothing. */
  readonly unapplied?: string;
  /** The process in the configuration file as it is now, without parts of profiles and of what it inherits; absent: the file has no such process, or is not valid. */
  readonly written?: WrittenPart;
};

/** One line of the log. */
export type LogEntry = {
  /** When it was written. */
  readonly time: string;
  /** Id of the process or instance; absent: procman's own. */
  readonly process?: string;
  /** Number of the instance, from 1. */
  readonly instance?: number;
  /** Number of the run. */
  readonly run?: number;
  /** Of output: what the line says, else `info` (stdout) or `error` (stderr). */
  readonly severity: "debug" | "info" | "warn" | "error";
  /** Its source: output of a process, its lifecycle, a request, a submission (`log`), a plugin, procman itself. */
  readonly category: "stdout" | "stderr" | "lifecycle" | "api" | "log" | "plugin" | "service";
  /** Without the line end. */
  readonly text: string;
};

/** What a flush of the logs has done. */
export type FlushRecord = {
  /** Ids. */
  readonly processes: readonly string[];
  /** Whether the stored output of all processes was deleted. */
  readonly store: boolean;
  /** Log files that were emptied. */
  readonly files: readonly string[];
  /** What was not emptied. */
  readonly kept: readonly { readonly file: string; readonly reason: string }[];
};

/** An entry for the log. */
export type LogSubmission = {
  /** What happened. */
  readonly text: string;
  readonly severity?: "debug" | "info" | "warn" | "error";
  /** The process it is about; with a process's own token always itself. */
  readonly process?: string;
};

export type MemoryRecord = {
  /** Bytes. */
  readonly rss: number;
  /** Bytes. */
  readonly heapTotal: number;
  /** Bytes. */
  readonly heapUsed: number;
  /** Bytes. */
  readonly external: number;
};

/** Report of a process about itself. */
export type TelemetryReport = {
  /** Id of a process or an instance. */
  readonly process: string;
  readonly memory: MemoryRecord;
  /** Its working directory. */
  readonly cwd: string;
  /** When it was sent. */
  readonly sent: string;
  /** Custom numbers. */
  readonly metrics?: Readonly<Record<string, number>>;
};

/** Number of instances of a cluster: `instances`, or `by`. */
export type Scaling = {
  /** The number; `"max"`: one for each processor. A cluster with `scale` keeps it, whatever its load is, until `"auto"`. */
  readonly instances?: number | "max" | "auto";
  /** The change of the number; below 0: fewer. */
  readonly by?: number;
};

/** A signal. */
export type Signalling = {
  /** Name, with or without SIG, or number; `reload`: the `reloadSignal` of the process, to its main process. */
  readonly signal: string | number;
  /** The process group of each run, or its main process alone. Absent: by the `killMode` of the process. */
  readonly to?: "group" | "leader";
};

/** Input for a process: `text`, or `data`. */
export type ProcessInput = {
  /** Text, to which nothing is added: a line ends with its own `\n`, which is the key Enter on a terminal (`tty`). */
  readonly text?: string;
  /** Bytes in base64, in place of `text`. */
  readonly data?: string;
  /** Size of the window: the terminal of a process with `tty` gets it before the input. */
  readonly size?: { readonly rows: number; readonly columns: number };
};

/** Bytes that a process has got. */
export type InputRecord = {
  /** Id of the process or instance. */
  readonly process: string;
  /** Their number. They are in its pipe, where it reads them. */
  readonly bytes: number;
};

/** CPU and memory of a process and all its descendants at one time. */
export type MetricPoint = {
  /** When it was measured. */
  readonly time: string;
  /** 100 is one core. */
  readonly cpuPercent: number;
  /** Private memory. */
  readonly memoryBytes: number;
  /** Number of the processes. */
  readonly processes: number;
  /** Of a cluster or a group: how many instances and processes ran. */
  readonly instances?: number;
};

/** The end of a run, or growth of a cluster that was refused. */
export type Incident = {
  /** When it ended; of `growth-refused`: since when. */
  readonly time: string;
  /** Id of the process or instance. */
  readonly process: string;
  /** Number of the run. */
  readonly run: number;
  /** How it ended, in one sentence. */
  readonly reason: string;
  /** Exit code. */
  readonly code?: number;
  /** Signal that ended it. */
  readonly signal?: string;
  /** Its code or signal counts as success, by `successExitCodes`. */
  readonly success?: true;
  /** Its pid. */
  readonly pid?: number;
  /** Start of the run. Absent: it could not be started. */
  readonly started?: string;
  /** Consumer of the token that requested its end. */
  readonly by?: string;
  /** How it ended; `reason` says it in words. */
  readonly end?: EndRecord;
  /** Number of ends just before it that came too fast to be recorded one by one. */
  readonly leftOut?: number;
  /** Why it ended. `growth-refused`: no end, but a cluster (`process`, with `run` 0) that needs more instances than it gets. */
  readonly cause: "exit" | "signal" | "out-of-memory" | "unstartable" | "timeout" | "unready" | "unhealthy" | "memory" | "terminate" | "watch" | "idle" | "operator" | "shutdown" | "unknown" | "growth-refused";
  /** Of `growth-refused`: when it was over. Absent: it lasts. */
  readonly ended?: string;
  /** What follows. */
  readonly decision: string;
  /** What follows; `decision` says it in words. */
  readonly next?: DecisionRecord;
  /** Its last lines, oldest first. */
  readonly lines: readonly LogEntry[];
  /** Of its last minutes. */
  readonly metrics: readonly MetricPoint[];
};

/** A run of a process, under way or ended. */
export type RunSummary = {
  /** Id of the process or instance. */
  readonly process: string;
  /** Number of the run. */
  readonly run: number;
  /** How it ended, in one sentence. */
  readonly reason: string;
  /** Exit code. */
  readonly code?: number;
  /** Signal that ended it. */
  readonly signal?: string;
  /** Its code or signal counts as success, by `successExitCodes`. */
  readonly success?: true;
  /** Its pid. */
  readonly pid?: number;
  /** Start of the run. Absent: it could not be started. */
  readonly started?: string;
  /** Consumer of the token that requested its end. */
  readonly by?: string;
  /** How it ended; `reason` says it in words. */
  readonly end?: EndRecord;
  /** Number of ends just before it that came too fast to be recorded one by one. */
  readonly leftOut?: number;
  /** Of a run that overlapped others: its place, such as `web:2`. */
  readonly slot?: string;
  /** Its end. Absent: it is not over. */
  readonly ended?: string;
  /** From its start to its end or, while it is not over, until now. */
  readonly durationMs?: number;
  /** Why it ended. */
  readonly cause?: "exit" | "signal" | "out-of-memory" | "unstartable" | "timeout" | "unready" | "unhealthy" | "memory" | "terminate" | "watch" | "idle" | "operator" | "shutdown" | "unknown";
};

/** A plugin of the configuration. */
export type PluginRecord = {
  /** From the last part of its address; a second plugin of the same name is `NAME-2`. */
  readonly id: string;
  /** As in the configuration. */
  readonly url: string;
  /** `backoff`: it has failed, and is restarted at `nextRestart`. */
  readonly status: "starting" | "running" | "backoff" | "stopping";
  /** Since the service was started. */
  readonly restarts: number;
  /** Its own name. */
  readonly name?: string;
  /** Its own version. */
  readonly version?: string;
  /** Start of its thread. */
  readonly started?: string;
  /** Time of the next restart. */
  readonly nextRestart?: string;
  /** Why it failed last; absent once it has run for a minute. */
  readonly problem?: string;
  /** Events that it was too slow for, or that came during a restart of its thread. */
  readonly lostEvents: number;
  /** Memory of its thread: heap, and buffers outside the heap. */
  readonly memoryBytes?: number;
};

export type PlannedChange = {
  /** Id of the process or instance. */
  readonly process: string;
  /** `in-place`: the change takes effect without a restart. */
  readonly action: "start" | "stop" | "restart" | "in-place" | "none";
  /** The changed fields. */
  readonly fields: readonly string[];
  /** In one sentence. */
  readonly reason: string;
  /** It is restarted once the instance before it is up, and rolled back if it doesn't come up. */
  readonly rolling: boolean;
  /** After a reload with `wait`: why it is not in the planned state. */
  readonly problem?: string;
};

export type PlannedSetting = {
  /** Such as `api.port`. */
  readonly field: string;
  /** `next-run`: when procman is terminated and started again. */
  readonly takesEffect: "in-place" | "next-run";
};

/** Plan of a reload: what a changed configuration file does, or would do. */
export type PlanRecord = {
  /** Absolute path. */
  readonly configFile: string;
  /** Name of the profile that is merged over the rest of the file; absent: none. */
  readonly profile?: string;
  /** In the order of the file; removed ones at the end. */
  readonly processes: readonly PlannedChange[];
  /** Changes outside of `processes`. */
  readonly settings: readonly PlannedSetting[];
  /** Warnings about the file. */
  readonly warnings: readonly string[];
};

/** A configuration that was applied. */
export type HistoryEntry = {
  /** From 1; numbers aren't used again. */
  readonly number: number;
  /** When it was applied. */
  readonly time: string;
  /** `running`: a rollout is under way. `rolled-back`: procman took it back by itself; `problem` says why. `interrupted`: procman was killed meanwhile, and has applied another one since. `damaged`: it can't be read. */
  readonly result: "running" | "applied" | "rolled-back" | "interrupted" | "damaged";
  /** Why it was taken back, or is damaged. */
  readonly problem?: string;
  /** It is in force. */
  readonly active?: true;
  /** Who or what asked for it, such as `asked by cli`. */
  readonly why: string;
  /** The consumer of the token; absent: nobody asked. */
  readonly consumer?: string;
  /** The Unix user behind it, if procman runs as another one. */
  readonly user?: string;
  /** The rollout over several hosts of which it was a step. */
  readonly rollout?: { readonly id: string; readonly by?: string };
  /** Absolute path. */
  readonly configFile: string;
  /** Name of the profile that was merged; absent: none. */
  readonly profile?: string;
  /** The plan that was carried out: what changed. Absent: procman was started with it. */
  readonly processes?: readonly PlannedChange[];
  /** Changes outside of `processes`. */
  readonly settings?: readonly PlannedSetting[];
  /** Number of the entry whose text was put back. */
  readonly rollbackTo?: number;
  /** Id of the release that a deployment has put in use, or has taken back. */
  readonly release?: string;
  /** Id of the release before it. */
  readonly releaseBefore?: string;
  /** Of procman. */
  readonly version: string;
  /** Name of the machine. */
  readonly host: string;
  /** It was applied on another machine. */
  readonly isForeign?: true;
};

export type HistoryFile = {
  /** Absolute path. */
  readonly file: string;
  /** Its text, with `***` in place of what may be secret. */
  readonly text?: string;
  /** Why the text can't be read. */
  readonly problem?: string;
};

/** A configuration that was applied, with its texts. */
export type HistoryDetail = {
  /** From 1; numbers aren't used again. */
  readonly number: number;
  /** When it was applied. */
  readonly time: string;
  /** `running`: a rollout is under way. `rolled-back`: procman took it back by itself; `problem` says why. `interrupted`: procman was killed meanwhile, and has applied another one since. `damaged`: it can't be read. */
  readonly result: "running" | "applied" | "rolled-back" | "interrupted" | "damaged";
  /** Why it was taken back, or is damaged. */
  readonly problem?: string;
  /** It is in force. */
  readonly active?: true;
  /** Who or what asked for it, such as `asked by cli`. */
  readonly why: string;
  /** The consumer of the token; absent: nobody asked. */
  readonly consumer?: string;
  /** The Unix user behind it, if procman runs as another one. */
  readonly user?: string;
  /** The rollout over several hosts of which it was a step. */
  readonly rollout?: { readonly id: string; readonly by?: string };
  /** Absolute path. */
  readonly configFile: string;
  /** Name of the profile that was merged; absent: none. */
  readonly profile?: string;
  /** The plan that was carried out: what changed. Absent: procman was started with it. */
  readonly processes?: readonly PlannedChange[];
  /** Changes outside of `processes`. */
  readonly settings?: readonly PlannedSetting[];
  /** Number of the entry whose text was put back. */
  readonly rollbackTo?: number;
  /** Id of the release that a deployment has put in use, or has taken back. */
  readonly release?: string;
  /** Id of the release before it. */
  readonly releaseBefore?: string;
  /** Of procman. */
  readonly version: string;
  /** Name of the machine. */
  readonly host: string;
  /** It was applied on another machine. */
  readonly isForeign?: true;
  /** The configuration file, and those that it includes. */
  readonly files: readonly HistoryFile[];
};

export type DiffHunk = {
  /** Its first line in the one text, from 1. */
  readonly fromLine: number;
  /** Its first line in the other. */
  readonly toLine: number;
  /** Each begins with a space, `-` or `+`; `***` stands in place of what may be secret. */
  readonly lines: readonly string[];
};

export type FileDiff = {
  /** Absolute path. */
  readonly file: string;
  readonly change: "changed" | "added" | "removed";
  readonly hunks: readonly DiffHunk[];
};

/** How two configurations differ. */
export type HistoryDiff = {
  /** What is compared: a number. */
  readonly from: string;
  /** With what: a number, or `file`: the present text. */
  readonly to: string;
  /** Those that differ. */
  readonly files: readonly FileDiff[];
};

/** What a rollback has done: the plan of its reload, and the files. */
export type RollbackRecord = {
  /** Absolute path. */
  readonly configFile: string;
  /** Name of the profile that is merged over the rest of the file; absent: none. */
  readonly profile?: string;
  /** In the order of the file; removed ones at the end. */
  readonly processes: readonly PlannedChange[];
  /** Changes outside of `processes`. */
  readonly settings: readonly PlannedSetting[];
  /** Warnings about the file. */
  readonly warnings: readonly string[];
  /** Number of the entry; absent: the release was named. */
  readonly rollbackTo?: number;
  /** Id of the release that is in use again; the files stay as they are. */
  readonly release?: string;
  /** The files that have another text now. */
  readonly files: readonly ({ readonly file: string; readonly change: "changed" | "added" | "removed"; readonly copy?: string })[];
  /** What to know, such as changes that are not committed. */
  readonly remarks: readonly string[];
};

/** What to deploy: `folder`, `tarball`, `ref` with `repository`, or `release`. */
export type DeployOrder = {
  /** Absolute path of a folder, whose content is copied. */
  readonly folder?: string;
  /** Absolute path of an archive of `tar`, also compressed by gzip. */
  readonly tarball?: string;
  /** A commit, tag or branch of `repository`. */
  readonly ref?: string;
  /** Absolute path of a folder in a Git repository. */
  readonly repository?: string;
  /** Id of a release that is there already. */
  readonly release?: string;
  /** Check everything, and say what would be done. */
  readonly dryRun?: true;
  /** `folder` or `tarball` was uploaded by `procman deploy --host`, which names here what it is made from. Procman removes the upload when the deployment is over. */
  readonly uploaded?: string;
};

/** A deployment: how a release was put in use, or was not. */
export type DeploymentRecord = {
  /** From 1; 0: it was only planned. */
  readonly number: number;
  /** Id of the release: a folder of `releases.folder`. */
  readonly release: string;
  /** Where the link led before: a release, or a path. Absent: there was none. */
  readonly before?: string;
  /** What it is made from: a path, or a ref with its commit. */
  readonly source: string;
  /** `done`: the release is in use. `failed`: nothing was switched. `taken-back`: the release before is in use again. `planned`: a dry run. */
  readonly result: "planned" | "running" | "done" | "failed" | "taken-back";
  /** Why it has failed or was taken back. */
  readonly problem?: string;
  /** What is under way; absent: it is over. */
  readonly step?: "copy" | "prepare" | "before" | "switch" | "restart" | "after" | "gate" | "promote" | "clean" | "switch-back" | "restart-back" | "after-back" | "discard";
  /** When it began. */
  readonly time: string;
  /** When it was over. */
  readonly ended?: string;
  /** The consumer of the token that has asked for it. */
  readonly consumer: string;
  /** The Unix user behind it, if procman runs as another one. */
  readonly user?: string;
  /** The rollout over several hosts of which it was a step. */
  readonly rollout?: { readonly id: string; readonly by?: string };
  /** What has happened since `after`: steps, and output of commands. */
  readonly lines: readonly string[];
  /** Value of `after` for the lines that follow. */
  readonly next: number;
};

/** A release that is there. */
export type ReleaseRecord = {
  /** Name of its folder. */
  readonly id: string;
  /** Absolute path of its folder. */
  readonly path: string;
  /** The link leads to it. */
  readonly current?: true;
  /** What it was made from, if that is known. */
  readonly source?: string;
  /** When it was made. */
  readonly time?: string;
  /** What became of its last deployment. */
  readonly result?: "planned" | "running" | "done" | "failed" | "taken-back";
  /** Why that has failed or was taken back. */
  readonly problem?: string;
  /** What runs in it: pids whose folder it is. Empty where the system doesn't tell (macOS). */
  readonly pids: readonly number[];
};

/** What is done on each host. */
export type RolloutAction = {
  /** The command. */
  readonly kind: "block" | "deploy" | "disable" | "enable" | "reload" | "restart" | "rollback" | "scale" | "signal" | "start" | "stop" | "unblock" | "upgrade";
  /** Processes; of `scale` one. Not with `deploy`, `reload`, `rollback`, `upgrade`. */
  readonly ids?: readonly string[];
  /** `restart`: all instances of a cluster at once. */
  readonly hard?: true;
  /** `start`: first what they depend on. */
  readonly withDependencies?: true;
  /** `reload`: with this profile; empty: without one. */
  readonly profile?: string;
  /** `scale`: the number of instances. */
  readonly scaling?: { readonly instances?: number | "max" | "auto"; readonly by?: number };
  /** `signal`: which one. */
  readonly signalling?: { readonly signal: string | number; readonly to?: "group" | "leader" };
  /** `deploy`: what, by its path on this host. */
  readonly order?: { readonly folder?: string; readonly tarball?: string; readonly ref?: string; readonly repository?: string; readonly release?: string; readonly dryRun?: true; readonly uploaded?: string };
  /** `rollback`: an entry of the history, or a release. */
  readonly entry?: string;
  /** `rollback`: also over changes that are not committed. */
  readonly force?: true;
};

/** A rollout that this host is to take part in. */
export type RolloutOrder = {
  /** Id of the rollout, the same on all hosts. */
  readonly id: string;
  /** This host, as the list of the client calls it. */
  readonly host: string;
  /** All hosts, in the order in which they change. */
  readonly hosts: readonly string[];
  /** What is done on each host. */
  readonly action: RolloutAction;
  /** How many hosts change at the same time. */
  readonly batch: number;
  /** How many may fail before the rollout stops. */
  readonly maxFailed: number;
  /** What follows when more have failed. */
  readonly onFailure: "stop" | "rollback";
  /** The client takes each host out of its load balancer, and puts it back. */
  readonly drains?: true;
  /** User and machine of the client, as it says. */
  readonly by?: string;
};

/** The next step of a rollout on this host. */
export type RolloutStep = {
  /** Id of the rollout, the same on all hosts. */
  readonly id: string;
  /** `drain`, `run`, `ready` forward, `back-drain`, `back-run`, `ready` back; `undrain`: out of `drain` without a change; `did` and `fail`: what the client has done itself; `retry` after a failure; `abort`: all hosts stop, or go back; `release`: it is over here. */
  readonly step: "drain" | "undrain" | "run" | "did" | "ready" | "fail" | "back-drain" | "back-run" | "retry" | "abort" | "release";
  /** `fail`: why. `back-run`: what has failed before it. */
  readonly problem?: string;
};

/** A rollout over several hosts, as this host has it. */
export type RolloutRecord = {
  /** Id of the rollout, the same on all hosts. */
  readonly id: string;
  /** This host, as the list of the client calls it. */
  readonly host: string;
  /** All hosts, in the order in which they change. */
  readonly hosts: readonly string[];
  /** What is done on each host. */
  readonly action: RolloutAction;
  /** How many hosts change at the same time. */
  readonly batch: number;
  /** How many may fail before the rollout stops. */
  readonly maxFailed: number;
  /** What follows when more have failed. */
  readonly onFailure: "stop" | "rollback";
  /** The client takes each host out of its load balancer, and puts it back. */
  readonly drains?: true;
  /** User and machine of the client, as it says. */
  readonly by?: string;
  /** How far this host is. */
  readonly phase: "waiting" | "draining" | "undraining" | "running" | "readying" | "done" | "failed" | "back-draining" | "back-running" | "back-readying" | "back-failed" | "taken-back";
  /** Since when. */
  readonly since: string;
  /** When the rollout began here. */
  readonly time: string;
  /** When it was over here; absent: another rollout is refused. */
  readonly ended?: string;
  /** Why this host has failed. */
  readonly problem?: string;
  /** It has something that can be taken back. */
  readonly changed?: true;
  /** The rollout goes back. */
  readonly back?: true;
  /** The rollout was aborted. */
  readonly aborted?: true;
  /** What has happened last. */
  readonly line?: string;
  /** When that was. */
  readonly said?: string;
  /** The consumer of the token that has asked for it. */
  readonly consumer: string;
  /** The Unix user behind it, if procman runs as another one. */
  readonly user?: string;
  /** Value of `after` for the next change. */
  readonly next: number;
};

/** A command to execute with the surroundings of a process. */
export type ExecOrder = {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly string[];
  /** Text for its standard input, which then ends. Absent: empty; with `follow=1` it stays open for `POST /exec/{id}/stdin`. */
  readonly stdin?: string;
};

/** A command that has ended. */
export type ExecRecord = {
  /** Id of the process or instance. */
  readonly process: string;
  /** Its exit code; 127 if there is no such program, 126 if it can't be executed. */
  readonly code?: number;
  /** The signal that ended it, such as `SIGKILL`, in place of `code`. */
  readonly signal?: string;
  /** What it has written, as UTF-8: the first MiB. */
  readonly stdout: string;
  /** The same of its standard error. */
  readonly stderr: string;
  /** Whether there was more. */
  readonly stdoutCut: boolean;
  /** Whether there was more. */
  readonly stderrCut: boolean;
  /** How long it ran, in milliseconds. */
  readonly durationMs: number;
};

/** Standard input of a command. */
export type ExecInput = {
  /** Bytes in base64. */
  readonly data?: string;
  /** The input ends after them. Default: false. */
  readonly end?: boolean;
};

/** A command that the caller will start itself. */
export type LaunchOrder = {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly string[];
  /** The caller, with whose end the command is ended. */
  readonly pid: number;
  /** When that has started, in the unit of the system. */
  readonly startTime: string;
  /** Of the caller. */
  readonly niceness: number;
};

/** How a command is started. */
export type ExecLaunch = {
  /** Id of the process or instance. */
  readonly process: string;
  /** Program and arguments, with what sets the limits. */
  readonly argv: readonly string[];
  /** Working directory. */
  readonly cwd: string;
  /** Its whole environment, secrets included. */
  readonly env: Readonly<Record<string, string>>;
  /** User. */
  readonly uid: number;
  /** Group. */
  readonly gid: number;
  /** Time between SIGTERM and SIGKILL when the command is ended early, in milliseconds. */
  readonly terminateMs: number;
};

/** What the token of a one-time code may do. */
export type SignInOrder = {
  /** Scopes of the token. Default: all; `input` only if the token that asks has it. */
  readonly scopes?: readonly ("read" | "control" | "input" | "log" | "telemetry" | "reload" | "admin")[];
};

/** A one-time code for the dashboard. */
export type SignInCode = {
  /** It belongs in the part of the address that isn't sent: `/#code=CODE`. */
  readonly code: string;
  /** How long it can be exchanged. */
  readonly expiresInSeconds: number;
};

/** A one-time code. */
export type SignInExchange = {
  /** The code of the link. */
  readonly code: string;
};

/** A token for the dashboard. */
export type SignInToken = {
  /** For `Authorization: Bearer TOKEN`. */
  readonly token: string;
};

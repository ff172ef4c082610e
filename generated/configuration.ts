/** A configuration as it is written, for programs in TypeScript. What each field means in full is in docs/reference/configuration.md. Made by scripts/schema.ts. */

/** An env file. */
export type EnvFileConfiguration = {
  /** Path of the file. */
  readonly path: string;
  /** Whether the file may be absent. Default: false. */
  readonly optional?: boolean | null | undefined;
};

export type RotationConfiguration = {
  /** A file is rotated before it would grow beyond this: bytes, or a text such as 500MB (powers of 1000) or 500MiB (powers of 1024). Default: "500MB". */
  readonly size?: string | number | null | undefined;
  /** A file that has been written to for this many hours is rotated; 0: never by age. Default: 0. */
  readonly hours?: number | null | undefined;
  /** Limit for all rotated files together; the oldest are removed first. Written like size. Default: "2GB". */
  readonly total?: string | number | null | undefined;
  /** Compress rotated files. Default: true. */
  readonly gzip?: boolean | null | undefined;
};

export type LoggerConfiguration = {
  /** Print the output on procman's own output. Default: false. */
  readonly console?: boolean | null | undefined;
  /** File for standard output; a relative path resolves from the folder of the configuration file. {name}, {id}, {process} and {instance} stand for the name of the configuration, the id of the process or instance, the id of the process alone, and the number of the instance from 1. */
  readonly stdout?: string | null | undefined;
  /** File for standard error, as for stdout. When omitted, standard error goes to the stdout file. */
  readonly stderr?: string | null | undefined;
  /** Write time and id in front of each line in files. Default: false. */
  readonly decorateFiles?: boolean | null | undefined;
  /** When a log file is closed, renamed and compressed; false: never. */
  readonly rotate?: false | RotationConfiguration | null | undefined;
};

export type WatcherConfiguration = {
  /** Milliseconds from a change to the restart; all changes in this time count as one. Default: 1000. */
  readonly interval?: number | null | undefined;
  /** File extensions that count; empty: all. Default: ["ts","tsx","js","jsx","json"]. */
  readonly exts?: readonly string[] | null | undefined;
  /** Patterns; a file in a watched folder must match one of them. Default: ["**\/*.*"]. */
  readonly match?: readonly string[] | null | undefined;
  /** Patterns of files that don't count, and of folders that are not searched. Default: ["**\/.git/**"]. */
  readonly skip?: readonly string[] | null | undefined;
};

/** A command with a time limit. */
export type HookConfiguration = {
  /** Command line, run by /bin/sh with the folder, user and environment of the process. */
  readonly cmd: string;
  /** Seconds after which it is ended, which counts as a failure; 0: no limit. Default: 60. */
  readonly timeout?: number | null | undefined;
};

export type HooksConfiguration = {
  /** Runs before each start of the process, which starts only if this ends with code 0. */
  readonly beforeStart?: string | HookConfiguration | null | undefined;
  /** Runs after the end of each run, before anything else happens with the process. */
  readonly afterStop?: string | HookConfiguration | null | undefined;
};

export type ReadyConfiguration = {
  /** The process accepts connections on this port of the loopback address; {port}: its own port, {port:ID}: that of another process. */
  readonly port?: number | "{port}" | string | null | undefined;
  /** The process answers at this address with a status from 200 to 399; {port} and {port:ID} stand for ports. */
  readonly http?: string | null | undefined;
  /** This command line, run like the process's cmd, ends with code 0. */
  readonly exec?: string | null | undefined;
  /** A line of its output matches this regular expression. */
  readonly log?: string | null | undefined;
  /** The process writes to this file descriptor, which is open when it starts. */
  readonly fd?: number | null | undefined;
  /** The process sends the message "ready" by process.send. For workers, and programs with "node": true. */
  readonly message?: true | null | undefined;
  /** A run that is not ready after this many seconds is stopped, which counts as an error. Default: 30. */
  readonly timeout?: number | null | undefined;
};

/** A process that must come up first. */
export type DependencyConfiguration = {
  /** Id of a process or a cluster. */
  readonly id: string;
  /** The required state: it was started, it is ready, it has finished successfully, or it has completed, with any code. Default: "ready". */
  readonly condition?: "started" | "ready" | "reachable" | "finished" | "completed" | undefined;
  /** Restart the dependent when this process was restarted. Default: false. */
  readonly restart?: boolean | undefined;
};

export type HealthConfiguration = {
  /** Like ready.port. */
  readonly port?: number | "{port}" | string | null | undefined;
  /** Like ready.http. */
  readonly http?: string | null | undefined;
  /** Like ready.exec. */
  readonly exec?: string | null | undefined;
  /** Seconds from one check to the next. Default: 10. */
  readonly interval?: number | null | undefined;
  /** Seconds to wait for an answer. Default: 5. */
  readonly timeout?: number | null | undefined;
  /** After this many failures in a row the process is unhealthy, and is restarted by its policy. Default: 3. */
  readonly failures?: number | null | undefined;
  /** Seconds after the start of a run in which failures don't count, until a check succeeds; without ready at least minUptimeMs. Default: 0. */
  readonly startPeriod?: number | null | undefined;
};

export type UlimitsConfiguration = {
  /** Address space. Bytes, or a text such as 2GB. */
  readonly as?: string | number | "unlimited" | null | undefined;
  /** Size of a core file. Bytes, or a text. */
  readonly core?: string | number | "unlimited" | null | undefined;
  /** Seconds of CPU time. */
  readonly cpu?: number | "unlimited" | null | undefined;
  /** Data segment. Bytes, or a text. */
  readonly data?: string | number | "unlimited" | null | undefined;
  /** Size of a file that it writes. Bytes, or a text. */
  readonly fsize?: string | number | "unlimited" | null | undefined;
  /** Memory locked in RAM. Bytes, or a text. */
  readonly memlock?: string | number | "unlimited" | null | undefined;
  /** Open files. */
  readonly nofile?: number | "unlimited" | null | undefined;
  /** Processes of its user. */
  readonly nproc?: number | "unlimited" | null | undefined;
  /** Stack. Bytes, or a text. */
  readonly stack?: string | number | "unlimited" | null | undefined;
};

export type ClusterConfiguration = {
  /** How many instances; max: one for each processor. */
  readonly instances: number | "max";
  /** Port of the first instance; the others get the following ports. "auto": each gets a free port, as with port of a process. Each finds its port in PROCMAN_CLUSTER_PORT, and in portVariable. */
  readonly startPort?: number | "auto" | null | undefined;
  /** Variable in which each instance finds its port. Omitted: PORT, unless env or envFile sets that; PROCMAN_CLUSTER_PORT: no additional variable. */
  readonly portVariable?: string | null | undefined;
  /** One port for all instances: of the built-in load balancer, or of the shared socket. "auto": a free one. */
  readonly commonPort?: number | "auto" | null | undefined;
  /** How the common port is served: by the load balancer, or by the instances themselves, which all get its listening socket as descriptor 3. Default: "balance". */
  readonly mode?: "balance" | "share" | null | undefined;
  /** How the load balancer distributes connections. Default: "round-robin". */
  readonly strategy?: "round-robin" | "least-connections" | "ip-hash" | null | undefined;
  /** Address that the common port is opened on; 0.0.0.0: all interfaces. Default: "127.0.0.1". */
  readonly hostname?: string | null | undefined;
  /** Each connection begins with a header of the PROXY protocol, version 2, with the client's address. A program with node doesn't need it. Default: false. */
  readonly proxyProtocol?: boolean | null | undefined;
  /** Seconds without traffic after which the load balancer closes a connection; 0: never. Default: 0. */
  readonly idleTimeout?: number | null | undefined;
  /** Limit of connections that the load balancer gives an instance at a time; more clients wait until one ends. Omitted: no limit. */
  readonly maxConnections?: number | null | undefined;
};

/** Bounds from a time on. */
export type SizeScheduleConfiguration = {
  /** From when on its min and max apply, written like cron. */
  readonly cron: string;
  /** Fewest instances from then on. Omitted: scale.min. */
  readonly min?: number | undefined;
  /** Most instances from then on. Omitted: scale.max. */
  readonly max?: number | "processors" | undefined;
};

export type ScaleConfiguration = {
  /** Fewest instances; 0, with idle: it sleeps while it has no client. Default: 1. */
  readonly min?: number | null | undefined;
  /** Most instances; processors: one for each processor. Default: "processors". */
  readonly max?: number | "processors" | null | undefined;
  /** Load that one instance is meant to have: cpu (percent of one core), connections (through the load balancer), metric:NAME (a number that it reports by telemetry); waiting: clients of the cluster that may wait for an instance. The one that needs most instances decides. */
  readonly targets?: Readonly<Record<string, number | null>> | null | undefined;
  /** Seconds that the load must need more instances, before there are more. Default: 10. */
  readonly upAfter?: number | null | undefined;
  /** Seconds that the load must need fewer instances, before there are fewer. Default: 300. */
  readonly downAfter?: number | null | undefined;
  /** Most instances that are added or removed at a time. Omitted: as many as the load needs. */
  readonly step?: number | null | undefined;
  /** Other bounds from a time on, until another of these schedules sets others. In the time zone of the process. */
  readonly schedules?: readonly SizeScheduleConfiguration[] | null | undefined;
};

/** A process: what to run, when it starts, and what happens when it ends. */
export type ProcessConfiguration = {
  /** Unique name of the process: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. */
  readonly id: string;
  /** Id of another process, whose fields this one takes, all but id, unless it sets them itself. Objects are merged key by key; everything else is replaced, and null removes it. */
  readonly extends?: string | null | undefined;
  /** Full command line, run by /bin/sh. Exactly one of cmd and worker must be given. */
  readonly cmd?: string | null | undefined;
  /** JavaScript or TypeScript module that runs in a separate Node process, or a list of the module and its arguments. */
  readonly worker?: string | readonly string[] | null | undefined;
  /** cmd is a Node program: it has a channel (process.send, and the message shutdown before it is stopped), and in a cluster its first listen uses the shared socket, or the port of the instance; behind the load balancer it sees its clients' addresses. Default: false. */
  readonly node?: boolean | null | undefined;
  /** Its standard input stays open: for programs that end with their input, and for procman send. { "file": path }: it is this file, which each run opens with the rights of its user, and then ends. Without it, input is /dev/null. Default: false. */
  readonly stdin?: boolean | { readonly file: string } | null | undefined;
  /** It runs on a pseudo-terminal, which takes input, too: for colors, prompts, job control and programs that fill the screen. Standard output and standard error are one stream. It needs perl. Default: false. */
  readonly tty?: boolean | null | undefined;
  /** Working directory; the folder of the configuration file when omitted. */
  readonly cwd?: string | null | undefined;
  /** Extra environment variables. They override those of procman, except PATH, which is appended. In a value ${NAME} and ${NAME:-default} stand for variables of procman's own environment and of envFile. A secret is read when a run starts: { "file": path } from a file, { "env": name } from such a variable. */
  readonly env?: Readonly<Record<string, string | number | boolean | { readonly file: string } | { readonly env: string } | null>> | null | undefined;
  /** File or files with more variables, as NAME=value lines; read whenever a run starts. { "path": file, "optional": true }: it may be absent. */
  readonly envFile?: string | EnvFileConfiguration | readonly (string | EnvFileConfiguration)[] | null | undefined;
  /** Whether it inherits procman's own environment: false: only PATH, LANG, LANGUAGE, LC_*, TZ and TERM; a list of names: these, too, with * at the end for all that begin like it; true: all of it. Default: without `user` all but the secrets that other processes and plugins name, with `user` false. */
  readonly inheritEnv?: boolean | readonly string[] | null | undefined;
  /** Folder or folders to append to PATH. */
  readonly path?: string | readonly string[] | null | undefined;
  /** Folder or folders to put in front of PATH. */
  readonly pathFirst?: string | readonly string[] | null | undefined;
  /** File that holds the process id while the process runs. Placeholders as in logger.stdout; a cluster needs {id} or {instance}. */
  readonly pidFile?: string | null | undefined;
  /** Seconds that a run may last before it is terminated; 0: no limit. Default: 0. */
  readonly timeout?: number | null | undefined;
  /** A scheduled start begins another run even if one is still going on. Default: false. */
  readonly overrun?: boolean | null | undefined;
  /** Where the output goes. */
  readonly logger?: LoggerConfiguration | null | undefined;
  /** Start when procman starts. Default: false. */
  readonly autostart?: boolean | null | undefined;
  /** It runs to its end when it is started by hand or named by run --once: start waits for the end and shows its output. It can't be combined with autostart, cron or watch. Default: false. */
  readonly task?: boolean | null | undefined;
  /** Schedule of starts: minute, hour, day of the month, month, day of the week; with seconds in front if there are six fields. */
  readonly cron?: string | null | undefined;
  /** Time zone of cron and terminate, such as Europe/Berlin. Default: the top level's. */
  readonly timeZone?: string | null | undefined;
  /** A scheduled start that was missed while procman was not running runs when procman is back: once, however many were missed. Default: false. */
  readonly catchUp?: boolean | null | undefined;
  /** Delays each scheduled start by up to this many seconds: always by the same time for a process on a host, by other times for other processes and hosts. Default: 0. */
  readonly jitter?: number | null | undefined;
  /** Files and folders to watch, or patterns of them, such as src/**\/*.html: the process starts with procman, and again whenever one of them changes. */
  readonly watch?: readonly string[] | null | undefined;
  /** What counts as a change of the watched files. Default: the top level's, field by field. */
  readonly watcher?: WatcherConfiguration | null | undefined;
  /** When an ended process starts again: after every end, after an error, or never. Omitted: error with autostart or watch, else never. */
  readonly restart?: "always" | "error" | "never" | null | undefined;
  /** Exit codes that count as success like 0, and signals by which an end does: then the process has finished, and restart error doesn't restart it. */
  readonly successExitCodes?: readonly (number | "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGQUIT" | "SIGPIPE" | "SIGKILL")[] | null | undefined;
  /** Milliseconds before each restart. Omitted: the first at once, then 100 doubling to 30000. */
  readonly restartDelayMs?: number | null | undefined;
  /** How many restarts are allowed in a row; no limit when omitted. */
  readonly restartLimit?: number | null | undefined;
  /** A run that lasts this many milliseconds resets the count of restarts and the delay. Default: 60000. */
  readonly restartResetMs?: number | null | undefined;
  /** A start counts as successful when the run is ready or, without ready, has lasted this many milliseconds, or has finished successfully; an instance of a cluster must have served for this time. Default: 1000. */
  readonly minUptimeMs?: number | null | undefined;
  /** Schedule of stops, written like cron. With restart set to always, the process restarts at these times. */
  readonly terminate?: string | null | undefined;
  /** Seconds to wait for a process to finish by itself, before it gets stopSignal. Default: the top level's. */
  readonly terminateGracePeriod?: number | null | undefined;
  /** Seconds to wait after stopSignal, before a process is killed. Default: the top level's. */
  readonly terminateTimeout?: number | null | undefined;
  /** Signal that asks the process group to exit. Default: "SIGTERM". */
  readonly stopSignal?: "SIGTERM" | "SIGINT" | "SIGQUIT" | "SIGHUP" | "SIGUSR1" | "SIGUSR2" | "SIGWINCH" | null | undefined;
  /** Signal on which the program re-reads its configuration; procman reload ID sends it to the main process. */
  readonly reloadSignal?: "SIGHUP" | "SIGUSR1" | "SIGUSR2" | "SIGWINCH" | null | undefined;
  /** Which processes get stopSignal: the whole process group, or the leader alone, for programs that stop their children themselves; what is left when the leader has ended is ended then. Default: "group". */
  readonly killMode?: "group" | "leader" | null | undefined;
  /** Commands that run before each start and after the end of each run: beforeStart and afterStop, each a command line or an object with cmd and timeout. */
  readonly hooks?: HooksConfiguration | null | undefined;
  /** How a run becomes ready: exactly one of port, http, log, exec, fd and message. Omitted: it is ready at once. */
  readonly ready?: ReadyConfiguration | null | undefined;
  /** Processes that must come up before it starts, and that are stopped after it: ids, or objects with id, condition (ready, the default; started; reachable: ready or asleep; finished; completed) and restart (true: restart it when the other was restarted). */
  readonly dependsOn?: readonly (string | DependencyConfiguration)[] | null | undefined;
  /** Whether a ready run stays healthy: checked regularly by exactly one of port, http and exec. */
  readonly health?: HealthConfiguration | null | undefined;
  /** A run that uses more memory than this, together with its descendants, in three checks in a row is restarted by its policy. Written like rotate.size. */
  readonly memoryLimit?: string | number | null | undefined;
  /** The kernel kills a run that needs more memory than this, together with its descendants. This needs a cgroup v2 that procman may divide; elsewhere it works like memoryLimit. */
  readonly memoryMax?: string | number | null | undefined;
  /** The most CPU time that a run gets, together with its descendants: percent of one core, so 200 is two cores. This needs a cgroup v2 that procman may divide; elsewhere there is no limit. */
  readonly cpuQuota?: number | null | undefined;
  /** Limits of the process, soft and hard, like the shell's ulimit; unlimited: none. */
  readonly ulimits?: UlimitsConfiguration | null | undefined;
  /** User that it runs as, by name or number; needs root. */
  readonly user?: string | number | null | undefined;
  /** Group that it runs as instead of the user's; needs root. */
  readonly group?: string | number | null | undefined;
  /** Niceness: -20 is the highest priority, 19 the lowest; below 0 needs root. */
  readonly nice?: number | null | undefined;
  /** Disk priority, where the disk scheduler supports it. Linux. */
  readonly ioNice?: { readonly class: "realtime" | "best-effort" | "idle"; readonly level?: number | null | undefined } | null | undefined;
  /** When memory runs out, the kernel kills processes with a higher value first; below 0 needs root. Linux. */
  readonly oomScoreAdjust?: number | null | undefined;
  /** Permissions that new files don't get: three octal digits. */
  readonly umask?: string | null | undefined;
  /** Groups of processes that it belongs to: group:NAME stands for all members. The Unix group is the field group. */
  readonly groups?: string | readonly string[] | null | undefined;
  /** Port that it listens on; it finds it in PORT, unless env or envFile sets that, and {port} stands for it. "auto": a free port, which stays with this folder and id as long as it is free. Others write {port:ID}. */
  readonly port?: number | "auto" | null | undefined;
  /** It sleeps while it has no client: procman stops it after some time, and its next client starts it. A process without a cluster needs port, on which clients come. */
  readonly idle?: { readonly after: number; readonly port?: number | "auto" | null | undefined; readonly wakeTimeout?: number | null | undefined; readonly wakeOn?: "connect" | "data" | null | undefined; readonly ignore?: readonly string[] | null | undefined; readonly busyFile?: string | null | undefined } | null | undefined;
  /** Several instances of the process, with the ids ID-1, ID-2 and so on. */
  readonly cluster?: ClusterConfiguration | null | undefined;
  /** Changes the number of instances of a cluster by its load, and by schedules. */
  readonly scale?: ScaleConfiguration | null | undefined;
};

/** Global logger settings, and the defaults for each process. */
export type GlobalLoggerConfiguration = {
  /** Print the output on procman's own output. Default: false. */
  readonly console?: boolean | undefined;
  /** File for standard output; a relative path resolves from the folder of the configuration file. {name}, {id}, {process} and {instance} stand for the name of the configuration, the id of the process or instance, the id of the process alone, and the number of the instance from 1. */
  readonly stdout?: string | undefined;
  /** File for standard error, as for stdout. When omitted, standard error goes to the stdout file. */
  readonly stderr?: string | undefined;
  /** Write time and id in front of each line in files. Default: false. */
  readonly decorateFiles?: boolean | undefined;
  /** When a log file is closed, renamed and compressed; false: never. */
  readonly rotate?: false | RotationConfiguration | undefined;
  /** Write time and id in front of each line on the console. Default: false. */
  readonly decorate?: boolean | undefined;
  /** Colors on the console, where it is a terminal; programs with their output there alone get FORCE_COLOR. Also with run --console. Default: false. */
  readonly colors?: boolean | undefined;
  /** json: each line of the console is a JSON object with time (UTC), process, severity, category (stdout, stderr, lifecycle, …) and text, as of `procman logs --json`; for log collectors. Default: "text". */
  readonly format?: "text" | "json" | undefined;
  /** false: the lines of the processes are printed on the console as they wrote them, without id and in no format. Default: true. */
  readonly prefix?: boolean | undefined;
  /** Hours for which procman keeps its own logs and metrics, for `procman logs`; 0 keeps none. Default: 24. */
  readonly internalLogHours?: number | undefined;
  /** Limit for these logs; the oldest are removed first. Written like rotate.size. Default: "1GB". */
  readonly internalLogSize?: string | number | undefined;
  /** Rules for lines that say their severity otherwise than by JSON or <N>, the first that fits. false: the severity of output is that of its stream. */
  readonly levels?: false | readonly ({ readonly prefix?: string | undefined; readonly regex?: string | undefined; readonly severity?: "debug" | "info" | "warn" | "error" | undefined })[] | undefined;
};

/** A plugin. */
export type PluginConfiguration = {
  /** Path of a module (./slack.js), name of a package, https address of a module with its version, or one that comes with procman: procman/notify, procman/otlp, procman/logship. */
  readonly url: string;
  /** Digest that the module of a path or an https address must have: sha256- and base64. */
  readonly integrity?: string | undefined;
  /** Options of the plugin. ${NAME} and ${NAME:-default} in texts are filled in when it is started. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
};

export type GroupConfiguration = {
  /** Unix group, by name or number. */
  readonly name: string | number;
  /** What its members may do, as scopes of a token: "read" is looking, "control" is starting, stopping and restarting. Default: ["read"]. */
  readonly scopes?: readonly ("read" | "control")[] | undefined;
};

/** Serves the API over TLS, as https. Needed where others can reach `hostname`, unless a reverse proxy in front does it. */
export type TlsConfiguration = {
  /** PEM file with the certificate, followed by its intermediate certificates. Reloaded when it changes. */
  readonly certificate: string;
  /** PEM file with its private key, without a passphrase. Reloaded when it changes. */
  readonly key: string;
};

export type ApiConfiguration = {
  /** Address that the API listens on; 0.0.0.0: all interfaces. Default: "127.0.0.1". */
  readonly hostname?: string | undefined;
  /** Port of the API; any free one when omitted. */
  readonly port?: number | undefined;
  /** Consumers whose tokens are refused. Default: []. */
  readonly revoked?: readonly string[] | undefined;
  /** Whether a token with the scope admin may execute commands with the rights and secrets of processes (procman exec). Over the Unix socket procman's own user always may. Default: false. */
  readonly exec?: boolean | undefined;
  /** Names under which a reverse proxy serves the API, such as procman.example.org. Default: []. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins whose pages may call the API, such as https://app.example.org. Default: []. */
  readonly cors?: readonly string[] | undefined;
  /** Unix group whose members may look, without a token: by a socket that procman opens for them. `scopes` lets them do more. */
  readonly group?: string | number | GroupConfiguration | undefined;
  /** Serves the API over TLS, as https. Needed where others can reach `hostname`, unless a reverse proxy in front does it. */
  readonly tls?: TlsConfiguration | undefined;
  /** Set this if exposing `hostname` without TLS is intended: a reverse proxy in front serves the API as https. Default: false. */
  readonly insecure?: boolean | undefined;
};

/** Configuration of procman. */
export type Configuration = {
  /** Address of this schema, for editors. */
  readonly $schema?: string | undefined;
  /** Name of the configuration: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. Names the folder .procman/NAME. Default: "procman". */
  readonly name?: string | undefined;
  /** The processes. */
  readonly processes: readonly ProcessConfiguration[];
  /** Fields of all processes, unless a process sets them itself: all but id, cmd, worker and extends. Objects are merged key by key; everything else is replaced, and null removes it. */
  readonly defaults?: DefaultsConfiguration | undefined;
  /** More files with processes: paths relative to the folder of this file, with * ? [ab] {a,b} in names, such as conf.d/*.jsonc. */
  readonly include?: readonly string[] | undefined;
  /** Global logger settings, and the defaults for each process. */
  readonly logger?: GlobalLoggerConfiguration | undefined;
  /** Environment variables of all processes; `env` of a process overrides them. */
  readonly env?: Readonly<Record<string, string | number | boolean | { readonly file: string } | { readonly env: string }>> | undefined;
  /** Env files of all processes, read before those of a process. */
  readonly envFile?: string | EnvFileConfiguration | readonly (string | EnvFileConfiguration)[] | undefined;
  /** Time zone of all schedules, such as Europe/Berlin. Default: that of the host. */
  readonly timeZone?: string | undefined;
  /** Where the ports of "auto" are searched. The default is above the ports of most servers, and below those that Linux and macOS give to connections. Default: "20000-23999". */
  readonly portRange?: string | undefined;
  /** Settings of the file watcher. A process may override them. */
  readonly watcher?: WatcherConfiguration | undefined;
  /** Parts of a configuration by name; `--profile NAME` merges one over the rest: objects key by key, processes by their id; everything else is replaced. */
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  /** How `procman deploy` makes a release and switches to it. */
  readonly releases?: { readonly folder?: string | undefined; readonly current?: string | undefined; readonly keep?: number | undefined; readonly prepare?: readonly (string | { readonly cmd: string; readonly timeout?: number | undefined })[] | undefined; readonly before?: readonly (string | { readonly cmd: string; readonly timeout?: number | undefined })[] | undefined; readonly after?: readonly (string | { readonly cmd: string; readonly timeout?: number | undefined })[] | undefined; readonly warm?: boolean | undefined; readonly gate?: { readonly seconds: number; readonly restarts?: number | undefined; readonly refused?: number | undefined; readonly metrics?: Readonly<Record<string, number | string>> | undefined } | undefined } | undefined;
  /** Plugins to load, each in a separate thread. */
  readonly plugins?: readonly PluginConfiguration[] | undefined;
  /** The REST API; false: no port, only the Unix socket for procman's commands and programs of the same user. */
  readonly api?: false | ApiConfiguration | undefined;
  /** Seconds to wait for a process to finish by itself, before it gets stopSignal. The default for all processes. Default: 0. */
  readonly terminateGracePeriod?: number | undefined;
  /** Seconds to wait after stopSignal, before a process is killed. The default for all processes. Default: 30. */
  readonly terminateTimeout?: number | undefined;
};

/** Fields of all processes, unless a process sets them itself: all but id, cmd, worker and extends. Objects are merged key by key; everything else is replaced, and null removes it. */
export type DefaultsConfiguration = Omit<ProcessConfiguration, "id" | "extends" | "cmd" | "worker">;

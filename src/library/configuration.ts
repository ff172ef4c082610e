/** A configuration as it is written, for programs in TypeScript. What each field means in full is in docs/configuration.md. */

// made by scripts/schema.ts

export type RotationConfiguration = {
  /** A file that would grow beyond this is rotated first: bytes, or a text such as 500MB (powers of 1000) or 500MiB (powers of 1024). Default: "500MB". */
  readonly size?: string | number | undefined;
  /** A file that has been written to for this many hours is rotated; 0: never by age. Default: 0. */
  readonly hours?: number | undefined;
  /** Rotated files together may take this much; the oldest are removed first. Written as size. Default: "2GB". */
  readonly total?: string | number | undefined;
  /** Compress rotated files. Default: true. */
  readonly gzip?: boolean | undefined;
};

/** Where the output goes. */
export type LoggerConfiguration = {
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
};

/** How a run becomes ready: exactly one of port, http, log, exec and fd. Omitted: it is ready at once. */
export type ReadyConfiguration = {
  /** It accepts connections on this port of the loopback address; {port}: on that of the instance. */
  readonly port?: number | "{port}" | undefined;
  /** It answers at this address with a status from 200 to 399; {port} stands for the port of the instance. */
  readonly http?: string | undefined;
  /** This command line ends with code 0, run as the process's own cmd is. */
  readonly exec?: string | undefined;
  /** A line of its output matches this regular expression. */
  readonly log?: string | undefined;
  /** It writes to this file descriptor, which it gets open at its start. */
  readonly fd?: number | undefined;
  /** A run that is not ready within so many seconds is stopped, which counts as an error. Default: 30. */
  readonly timeout?: number | undefined;
};

/** A process that must be there first. */
export type DependencyConfiguration = {
  /** Id of a process or a cluster. */
  readonly id: string;
  /** What must be the case: it was started, it is ready, or it has finished with code 0. Default: "ready". */
  readonly condition?: "started" | "ready" | "finished" | undefined;
  /** Restart the dependent when this one was started anew. Default: false. */
  readonly restart?: boolean | undefined;
};

/** Whether a run that is ready stays well: asked at intervals by exactly one of port, http and exec. */
export type HealthConfiguration = {
  /** As ready.port. */
  readonly port?: number | "{port}" | undefined;
  /** As ready.http. */
  readonly http?: string | undefined;
  /** As ready.exec. */
  readonly exec?: string | undefined;
  /** Seconds from one question to the next. Default: 10. */
  readonly interval?: number | undefined;
  /** Seconds to wait for an answer. Default: 5. */
  readonly timeout?: number | undefined;
  /** After so many failures in a row it is not well, and is restarted by its policy. Default: 3. */
  readonly failures?: number | undefined;
  /** Seconds from the start of a run in which failures don't count, until it was well once. Default: 0. */
  readonly startPeriod?: number | undefined;
};

/** Limits of the process, soft and hard, as of the shell's ulimit; unlimited: none. */
export type UlimitsConfiguration = {
  /** Address space. Bytes, or a text such as 2GB. */
  readonly as?: string | number | "unlimited" | undefined;
  /** Size of a core file. Bytes, or a text. */
  readonly core?: string | number | "unlimited" | undefined;
  /** Seconds of CPU time. */
  readonly cpu?: number | "unlimited" | undefined;
  /** Data segment. Bytes, or a text. */
  readonly data?: string | number | "unlimited" | undefined;
  /** Size of a file that it writes. Bytes, or a text. */
  readonly fsize?: string | number | "unlimited" | undefined;
  /** Memory locked in RAM. Bytes, or a text. */
  readonly memlock?: string | number | "unlimited" | undefined;
  /** Open files. */
  readonly nofile?: number | "unlimited" | undefined;
  /** Processes of its user. */
  readonly nproc?: number | "unlimited" | undefined;
  /** Stack. Bytes, or a text. */
  readonly stack?: string | number | "unlimited" | undefined;
};

/** Several instances of the process, with the ids ID-1, ID-2 and so on. */
export type ClusterConfiguration = {
  /** How many instances; max: one for each processor. */
  readonly instances: number | "max";
  /** Port of the first instance, one more for each further one; each gets its own in PROCMAN_CLUSTER_PORT. */
  readonly startPort?: number | undefined;
  /** One port for all instances: of the built-in load balancer, or of the socket that they share. */
  readonly commonPort?: number | undefined;
  /** How the common port is served: by the load balancer, or by the instances themselves, which all get its listening socket as descriptor 3. Default: "balance". */
  readonly mode?: "balance" | "share" | undefined;
  /** How the load balancer distributes connections. Default: "round-robin". */
  readonly strategy?: "round-robin" | "least-connections" | "ip-hash" | undefined;
  /** Address that the common port is opened on; 0.0.0.0: all interfaces. Default: "127.0.0.1". */
  readonly hostname?: string | undefined;
  /** Each connection begins with a header of the PROXY protocol, version 2, that tells the client's address. Default: false. */
  readonly proxyProtocol?: boolean | undefined;
  /** Seconds without traffic after which the load balancer closes a connection; 0: never. Default: 0. */
  readonly idleTimeout?: number | undefined;
  /** Most connections that the load balancer gives an instance at a time; further clients wait for one to end. Omitted: no limit. */
  readonly maxConnections?: number | undefined;
};

/** A process: what to run, when it starts, and what happens when it ends. */
export type ProcessConfiguration = {
  /** Unique name of the process: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. */
  readonly id: string;
  /** Full command line, run by /bin/sh. Exactly one of cmd and worker must be given. */
  readonly cmd?: string | undefined;
  /** JavaScript or TypeScript module that runs in a Node process of its own, or a list of the module and its arguments. */
  readonly worker?: string | readonly string[] | undefined;
  /** Working directory; the folder of the configuration file when omitted. */
  readonly cwd?: string | undefined;
  /** Extra environment variables. They override those of procman, except PATH, which is appended. In a value ${NAME} and ${NAME:-default} stand for variables of procman's own and of envFile. A secret is read when a run starts: { "file": path } from a file, { "env": name } from such a variable. */
  readonly env?: Readonly<Record<string, string | { readonly file: string } | { readonly env: string }>> | undefined;
  /** File or files with further variables, as NAME=value lines; read whenever a run starts. */
  readonly envFile?: string | readonly string[] | undefined;
  /** Folder or folders to append to PATH. */
  readonly path?: string | readonly string[] | undefined;
  /** File that holds the process id while the process runs. Placeholders as in logger.stdout; a cluster needs {id} or {instance}. */
  readonly pidFile?: string | undefined;
  /** Seconds that a run may last before it is terminated; 0: no limit. Default: 0. */
  readonly timeout?: number | undefined;
  /** A start by schedule may begin another run while one is going on. Default: false. */
  readonly overrun?: boolean | undefined;
  /** Where the output goes. */
  readonly logger?: LoggerConfiguration | undefined;
  /** Start when procman starts. Default: false. */
  readonly autostart?: boolean | undefined;
  /** Schedule of starts: minute, hour, day of the month, month, day of the week; with seconds in front if there are six fields. */
  readonly cron?: string | undefined;
  /** Files and folders that are watched, or patterns of them, as src/**\/*.html: the process starts with procman, and again when one of them changes. */
  readonly watch?: readonly string[] | undefined;
  /** When an ended process starts again: after every end, or after an error. Omitted: error with autostart or watch, else never. */
  readonly restart?: "always" | "error" | undefined;
  /** Milliseconds before each restart. Omitted: the first at once, then 100 doubling to 30000. */
  readonly restartDelayMs?: number | undefined;
  /** How many restarts are allowed in a row; no limit when omitted. */
  readonly restartLimit?: number | undefined;
  /** A run that lasted this many milliseconds clears the count of restarts and the delay. Default: 60000. */
  readonly restartResetMs?: number | undefined;
  /** Schedule of stops, as cron. With restart set to always, the process restarts at these times. */
  readonly terminate?: string | undefined;
  /** Seconds to wait for a process to finish by itself, before it is asked to terminate. Default: the top level's. */
  readonly terminateGracePeriod?: number | undefined;
  /** Seconds to wait after SIGTERM, before a process is killed. Default: the top level's. */
  readonly terminateTimeout?: number | undefined;
  /** The signal that asks it to end, to its whole process group. Default: "SIGTERM". */
  readonly stopSignal?: "SIGTERM" | "SIGINT" | "SIGQUIT" | "SIGHUP" | "SIGUSR1" | "SIGUSR2" | "SIGWINCH" | undefined;
  /** How a run becomes ready: exactly one of port, http, log, exec and fd. Omitted: it is ready at once. */
  readonly ready?: ReadyConfiguration | undefined;
  /** Processes that must be there before it starts, and are stopped after it: ids, or objects with id, condition (ready, the default; started; finished) and restart (true: restart it when that one was started anew). */
  readonly dependsOn?: readonly (string | DependencyConfiguration)[] | undefined;
  /** Whether a run that is ready stays well: asked at intervals by exactly one of port, http and exec. */
  readonly health?: HealthConfiguration | undefined;
  /** A run that has more memory than this, with all its descendants, for three looks in a row is restarted by its policy. Written as rotate.size. */
  readonly memoryLimit?: string | number | undefined;
  /** The kernel kills a run that wants more memory than this, with all its descendants. It takes a cgroup v2 that procman may divide; elsewhere it counts as memoryLimit. */
  readonly memoryMax?: string | number | undefined;
  /** Limits of the process, soft and hard, as of the shell's ulimit; unlimited: none. */
  readonly ulimits?: UlimitsConfiguration | undefined;
  /** User that it runs as, by name or number; only root may. */
  readonly user?: string | number | undefined;
  /** Group that it runs as instead of the user's own; only root may. */
  readonly group?: string | number | undefined;
  /** Niceness: -20 is served first, 19 last; below 0 only root may. */
  readonly nice?: number | undefined;
  /** Rights that files it makes don't get: three octal digits. */
  readonly umask?: string | undefined;
  /** Several instances of the process, with the ids ID-1, ID-2 and so on. */
  readonly cluster?: ClusterConfiguration | undefined;
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
  /** Colours on the console. Default: false. */
  readonly colors?: boolean | undefined;
  /** Hours for which procman keeps its own logs and metrics, for `procman logs`; 0 keeps none. Default: 24. */
  readonly internalLogHours?: number | undefined;
  /** These logs may take this much; the oldest are removed first. Written as rotate.size. Default: "1GB". */
  readonly internalLogSize?: string | number | undefined;
};

/** Settings of the file watcher, for all processes. */
export type WatcherConfiguration = {
  /** Milliseconds from a change to the restart; what changes meanwhile is one change. Default: 1000. */
  readonly interval?: number | undefined;
  /** File extensions that count; none: all. Default: ["ts","tsx","js","jsx","json"]. */
  readonly exts?: readonly string[] | undefined;
  /** Patterns that a file in a watched folder must match; one of them. Default: ["**\/*.*"]. */
  readonly match?: readonly string[] | undefined;
  /** Patterns of files that don't count, and of folders that are not looked into. Default: ["**\/.git/**"]. */
  readonly skip?: readonly string[] | undefined;
};

/** A plugin. */
export type PluginConfiguration = {
  /** Path of a module (./slack.js), name of a package, https address of a module with its version, or one that comes with procman: procman/notify, procman/otlp, procman/logship. */
  readonly url: string;
  /** Digest that the module of a path or an https address must have: sha256- and base64. */
  readonly integrity?: string | undefined;
  /** Settings of the plugin itself. ${NAME} and ${NAME:-default} in texts are filled in when it is started. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
};

/** The REST API. */
export type ApiConfiguration = {
  /** Address that the API listens on; 0.0.0.0: all interfaces. Default: "127.0.0.1". */
  readonly hostname?: string | undefined;
  /** Port of the API; any free one when omitted. */
  readonly port?: number | undefined;
  /** Consumers whose tokens are refused. Default: []. */
  readonly revoked?: readonly string[] | undefined;
  /** Origins whose pages may ask, as https://app.example.org. Default: []. */
  readonly cors?: readonly string[] | undefined;
};

/** Configuration of procman. */
export type Configuration = {
  /** Address of this schema, for editors. */
  readonly $schema?: string | undefined;
  /** Name of the whole: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. Names the folder .procman/NAME. Default: "procman". */
  readonly name?: string | undefined;
  /** The processes. */
  readonly processes: readonly ProcessConfiguration[];
  /** Global logger settings, and the defaults for each process. */
  readonly logger?: GlobalLoggerConfiguration | undefined;
  /** Settings of the file watcher, for all processes. */
  readonly watcher?: WatcherConfiguration | undefined;
  /** Parts of a configuration by name; `--profile NAME` merges one over the rest: objects key by key, processes by their id, all else is replaced. */
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  /** Plugins to load, each in a thread of its own. */
  readonly plugins?: readonly PluginConfiguration[] | undefined;
  /** The REST API. */
  readonly api?: ApiConfiguration | undefined;
  /** Seconds to wait for a process to finish by itself, before it is asked to terminate. For all processes that don't say otherwise. Default: 0. */
  readonly terminateGracePeriod?: number | undefined;
  /** Seconds to wait after SIGTERM, before a process is killed. For all processes that don't say otherwise. Default: 30. */
  readonly terminateTimeout?: number | undefined;
};

// end

/**
 * The configuration as it is given: helps editors to complete and check it. Nothing is checked at run time; see `validateConfiguration`.
 *
 * @example
 * export default defineConfig({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 */
export function defineConfig(config: Configuration): Configuration {
  return config;
}

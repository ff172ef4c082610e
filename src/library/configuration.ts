/** A configuration as it is written, for programs in TypeScript. What each field means in full is in docs/configuration.md. */
import type { StopSignal } from "../base/stop-signals.ts";

/** Rotation of log files; sizes are bytes, or texts as "500MB". */
export type RotationConfiguration = {
  /** A file that would grow beyond this is rotated first. Default: 500MB. */
  readonly size?: number | string | undefined;
  /** A file that has been written to for so many hours is rotated; 0: never by age. Default: 0. */
  readonly hours?: number | undefined;
  /** All rotated files together may take this much; the oldest are removed first. Default: 2GB. */
  readonly total?: number | string | undefined;
  /** Compress rotated files. Default: true. */
  readonly gzip?: boolean | undefined;
};

/** Where the output of a process goes. */
export type LoggerConfiguration = {
  /** Print the output on procman's own output. Default: false. */
  readonly console?: boolean | undefined;
  /** File for standard output, as `logs/{id}.log`. */
  readonly stdout?: string | undefined;
  /** File for standard error. Default: the same as for standard output. */
  readonly stderr?: string | undefined;
  /** Write time and id in front of each line in files. Default: false. */
  readonly decorateFiles?: boolean | undefined;
  /** `false`: never. */
  readonly rotate?: false | RotationConfiguration | undefined;
};

/** The defaults for each process, and what is there once for all. */
export type GlobalLoggerConfiguration = LoggerConfiguration & {
  /** Write time and id in front of each line on the console. Default: false. */
  readonly decorate?: boolean | undefined;
  /** Colours on the console. Default: false. */
  readonly colors?: boolean | undefined;
  /** Hours for which logs and metrics are stored; 0: not at all. Default: 24. */
  readonly internalLogHours?: number | undefined;
};

/** One process: what to run, when it starts, and what happens when it ends. */
export type ProcessConfiguration = {
  /** 1 to 64 characters from `a-z 0-9 . _ -`. */
  readonly id: string;
  /** Command line, run by /bin/sh. Exactly one of `cmd` and `worker` must be given. */
  readonly cmd?: string | undefined;
  /** JavaScript or TypeScript module that runs in a Node process of its own; with arguments as a list. */
  readonly worker?: string | readonly string[] | undefined;
  readonly cwd?: string | undefined;
  /** A secret is read when a run starts: from a file, or from a variable of procman's own. */
  readonly env?: Readonly<Record<string, string | { readonly file: string } | { readonly env: string }>> | undefined;
  /** Files of NAME=value lines; read whenever a run starts. */
  readonly envFile?: string | readonly string[] | undefined;
  /** Appended to PATH. */
  readonly path?: string | readonly string[] | undefined;
  /** Holds the pid while it runs. */
  readonly pidFile?: string | undefined;
  /** Seconds that a run may last; 0: no limit. Default: 0. */
  readonly timeout?: number | undefined;
  /** A start by schedule may begin another run while one is going on. Default: false. */
  readonly overrun?: boolean | undefined;
  readonly logger?: LoggerConfiguration | undefined;
  /** Start with procman. Default: false. */
  readonly autostart?: boolean | undefined;
  /** Schedule of starts. */
  readonly cron?: string | undefined;
  readonly watch?: readonly string[] | undefined;
  /** Default: `error` with `autostart` or `watch`, else never. */
  readonly restart?: "always" | "error" | undefined;
  /** Milliseconds. Default: the first restart at once, then 100 doubling to 30000. */
  readonly restartDelayMs?: number | undefined;
  /** Restarts in a row. Default: no limit. */
  readonly restartLimit?: number | undefined;
  /** A run of so many milliseconds clears the count of restarts. Default: 60000. */
  readonly restartResetMs?: number | undefined;
  /** Schedule of stops. */
  readonly terminate?: string | undefined;
  /** Seconds to finish by itself before SIGTERM. Default: 0. */
  readonly terminateGracePeriod?: number | undefined;
  /** Seconds from SIGTERM to SIGKILL. Default: 30. */
  readonly terminateTimeout?: number | undefined;
  /** Asks it to end. Default: `SIGTERM`. */
  readonly stopSignal?: StopSignal | undefined;
  readonly cluster?: ClusterConfiguration | undefined;
  /** Processes that must be there before it starts; it is stopped before them. An id alone: it must be ready. */
  readonly dependsOn?: readonly (string | DependencyConfiguration)[] | undefined;
  /** How a run becomes ready. Omitted: it is so at once. */
  readonly ready?: ReadyConfiguration | undefined;
  /** Whether a run that is ready stays well. */
  readonly health?: HealthConfiguration | undefined;
  /** A run that has more memory than this, with all its descendants, is restarted by its policy: bytes, or `"512MB"`. */
  readonly memoryLimit?: number | string | undefined;
  /** The kernel kills a run that wants more memory than this, with all its descendants, where procman has a cgroup v2. */
  readonly memoryMax?: number | string | undefined;
  /** Soft and hard limits of the process: bytes or a text for sizes, a number else, or `"unlimited"`. */
  readonly ulimits?: UlimitsConfiguration | undefined;
  /** User that it runs as, by name or number. Only root may. */
  readonly user?: string | number | undefined;
  /** Instead of the user's own group. Only root may. */
  readonly group?: string | number | undefined;
  /** -20 is served first, 19 last. */
  readonly nice?: number | undefined;
  /** Three octal digits, as `"027"`. */
  readonly umask?: string | undefined;
};

export type UlimitsConfiguration = {
  readonly [Name in "as" | "core" | "cpu" | "data" | "fsize" | "memlock" | "nofile" | "nproc" | "stack"]?: number | string | undefined;
};

/** Exactly one of `port`, `http` and `exec`, which mean the same as in `ready`. */
export type HealthConfiguration = Pick<ReadyConfiguration, "port" | "http" | "exec"> & {
  /** Seconds from one question to the next. Default 10. */
  readonly interval?: number | undefined;
  /** Seconds to wait for an answer. Default 5. */
  readonly timeout?: number | undefined;
  /** After so many failures in a row it is not well, and is restarted by its policy. Default 3. */
  readonly failures?: number | undefined;
  /** Seconds from the start of a run in which failures don't count, until it was well once. Default 0. */
  readonly startPeriod?: number | undefined;
};

/** Exactly one of `port`, `http`, `log`, `exec` and `fd`. `"{port}"` stands for the port of the instance of a cluster. */
export type ReadyConfiguration = {
  /** It accepts connections on this port of the loopback address. */
  readonly port?: number | "{port}" | undefined;
  /** It answers at this address (`http://…`) with a status from 200 to 399. */
  readonly http?: string | undefined;
  /** A line of its output matches this regular expression. */
  readonly log?: string | undefined;
  /** This command line ends with code 0. */
  readonly exec?: string | undefined;
  /** It writes to this descriptor, from 3 to 9. */
  readonly fd?: number | undefined;
  /** A run that is not ready within so many seconds is stopped, which counts as an error. Default 30. */
  readonly timeout?: number | undefined;
};

/** A process that must be there before another one starts. */
export type DependencyConfiguration = {
  readonly id: string;
  /** Default: ready. */
  readonly condition?: "started" | "ready" | "finished" | undefined;
  /** Restart whoever depends on it when it was started anew. Default: false. */
  readonly restart?: boolean | undefined;
};

/** Several instances of a process, with the ids `ID-1`, `ID-2` and so on. */
export type ClusterConfiguration = {
  /** `max`: one for each processor. */
  readonly instances: number | "max";
  /** Of the first instance, one more for each further one; each gets its own in PROCMAN_CLUSTER_PORT. */
  readonly startPort?: number | undefined;
  readonly commonPort?: number | undefined;
  readonly strategy?: "round-robin" | "least-connections" | "ip-hash" | undefined;
};

/** What `procman.jsonc` holds. */
export type Configuration = {
  readonly $schema?: string | undefined;
  /** Of the whole; names the folder `.procman/NAME`. Default: procman. */
  readonly name?: string | undefined;
  readonly processes: readonly ProcessConfiguration[];
  readonly logger?: GlobalLoggerConfiguration | undefined;
  readonly watcher?:
    | {
        readonly interval?: number | undefined;
        readonly exts?: readonly string[] | undefined;
        readonly match?: readonly string[] | undefined;
        readonly skip?: readonly string[] | undefined;
      }
    | undefined;
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  readonly plugins?:
    | readonly {
        readonly url: string;
        readonly integrity?: string | undefined;
        readonly options?: Readonly<Record<string, unknown>> | undefined;
      }[]
    | undefined;
  readonly api?:
    | {
        readonly hostname?: string | undefined;
        /** Default: any that is free. */
        readonly port?: number | undefined;
        /** Consumers whose tokens are refused. */
        readonly revoked?: readonly string[] | undefined;
        /** Origins whose pages may ask, as `https://app.example.org`. */
        readonly cors?: readonly string[] | undefined;
      }
    | undefined;
  /** Default for all processes. Seconds. */
  readonly terminateGracePeriod?: number | undefined;
  /** Default for all processes. Seconds. */
  readonly terminateTimeout?: number | undefined;
};

/**
 * The configuration as it is given: helps editors to complete and check it. Nothing is checked at run time; see `validateConfiguration`.
 *
 * @example
 * export default defineConfig({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 */
export function defineConfig(config: Configuration): Configuration {
  return config;
}

/** A configuration after checking: every default filled in, every unit converted, every path absolute, frozen. */
import type { FrontSpec } from "../contract/balancer-protocol.ts";
import type { Account, Ulimits } from "../contract/limits.ts";
import type { ConsoleStyle, Rotation } from "../contract/logger-protocol.ts";
import type { PluginSpec } from "../contract/plugin-protocol.ts";
import type { HealthSpec, ReadyProbe } from "../contract/probe.ts";
import type { Dependency } from "../supervisor/plan.ts";
import type { Policy } from "../supervisor/restart-policy.ts";

/** What to run: a shell command line, or a JavaScript/TypeScript module in a Node process of its own. */
export type Command =
  | { readonly kind: "shell"; readonly line: string }
  | { readonly kind: "worker"; readonly script: string; readonly args: readonly string[] };

/** A text, what a file holds, or what a variable of procman's own holds. */
export type EnvValue = string | { readonly file: string } | { readonly env: string };

/** One process as it is supervised: a process of the file, or one instance of a cluster. */
export type ProcessSpec = {
  /** Process id, or `ID-1` … `ID-n` for the instances of a cluster. */
  readonly id: string;
  readonly command: Command;
  readonly cwd: string;
  /** Extra variables as configured (without `PATH`): `${NAME}` is filled in, and secrets are read, when a run starts. */
  readonly env: Readonly<Record<string, EnvValue>>;
  /** Files with further variables. */
  readonly envFile?: readonly string[];
  /** Folders to append to `PATH`: from `path` and from `env.PATH`. */
  readonly path: readonly string[];
  readonly pidFile?: string;
  readonly overrun: boolean;
  readonly autostart: boolean;
  readonly cron?: string;
  /** Absolute paths, or such with a pattern at the end. */
  readonly watch: readonly string[];
  /** Cron expression. */
  readonly terminate?: string;
  readonly policy: Policy;
  /** How a run becomes ready; absent: it is so at once. */
  readonly ready?: ReadyProbe;
  /** What must be the case before it starts. */
  readonly dependsOn?: readonly Dependency[];
  readonly health?: HealthSpec;
  /** Its run may have so much with all its descendants. Bytes. */
  readonly memoryLimit?: number;
  /** Bytes, held to by the kernel where it can. */
  readonly memoryMax?: number;
  readonly ulimits?: Ulimits;
  /** As whom it runs. */
  readonly user?: Account;
  /** Instead of the user's own group. */
  readonly group?: number;
  readonly nice?: number;
  /** Octal digits. */
  readonly umask?: string;
  readonly log: LogSpec;
  /** Present for the instances of a cluster: which, its number from 0, its port. */
  readonly cluster?: { readonly id: string; readonly index: number; readonly port?: number };
  /** Present for the instances of a cluster with a common port: how that is served. */
  readonly front?: FrontSpec;
  /** Present for the instances of a cluster that accept from one socket: where that listens. */
  readonly share?: { readonly hostname: string; readonly port: number };
};

export type LogSpec = {
  readonly console: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly decorateFiles: boolean;
  readonly rotation?: Rotation;
  /** It goes to the log store too. */
  readonly stored?: true;
};

/** What counts as a change of a watched path. */
export type WatcherSpec = {
  readonly intervalMs: number;
  /** Without dot; none: all count. */
  readonly exts: readonly string[];
  readonly match: readonly string[];
  readonly skip: readonly string[];
};

/** Where the REST API listens. */
export type ApiSpec = {
  readonly hostname: string;
  /** Absent: any free port. */
  readonly port?: number;
  /** Consumers whose tokens are refused. */
  readonly revoked: readonly string[];
  /** Origins whose pages may ask. Absent: none but its own. */
  readonly cors?: readonly string[];
};

export type Config = {
  /** Absolute path of the file it was read from; empty for data that came from no file. */
  readonly file: string;
  /** What was merged over the rest of it. */
  readonly profile?: string;
  /** `name` of the file, or "procman". */
  readonly name: string;
  /** Folder of all that procman keeps: `.procman/NAME` beside the file, or below `$PROCMAN_STATE_DIR`. */
  readonly stateDir: string;
  readonly processes: readonly ProcessSpec[];
  readonly console: ConsoleStyle;
  readonly internalLogHours: number;
  /** The log store may take so much. */
  readonly internalLogBytes: number;
  readonly api: ApiSpec;
  readonly watcher: WatcherSpec;
  readonly plugins: readonly PluginSpec[];
  readonly warnings: readonly Problem[];
};

/** One thing that is wrong (or doubtful) in a file, with its place. Lines and columns count from 1; 0 where there is no file. */
export type Problem = {
  /** As shown to people: relative to the current folder where it lies below; empty where there is no file. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Where in the data, as `processes[0].restart`. */
  readonly path: string;
  /** What was found, what is allowed, what to do. */
  readonly message: string;
};

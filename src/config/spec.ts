/** A configuration after checking: every default filled in, every unit converted, every path absolute, frozen. */
import {
  boolean,
  integer,
  list,
  literal,
  type MembersOf,
  number,
  type ObjectOf,
  type Optional,
  openObject,
  optional,
  type Schema,
  schemaFor,
  string,
  type TypeOf,
  union,
} from "../base/schema.ts";
import type { FrontSpec } from "../ipc/balancer-protocol.ts";
import type { ConsoleStyle, Rotation } from "../ipc/logger-protocol.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import type { Policy } from "../supervisor/restart-policy.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { consoleStyle, type envValue, front, plugin, policy, rotation } from "./spec-parts.ts";

/** What to run: a shell command line, or a JavaScript/TypeScript module in a Node process of its own. */
export type CommandSpec =
  | { readonly kind: "shell"; readonly line: string }
  | { readonly kind: "worker"; readonly script: string; readonly args: readonly string[] };

/** A text, what a file holds, or what a variable of procman's own holds. */
export type EnvValue = TypeOf<typeof envValue>;

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

type Rows = typeof PROCESS;
type RowsWithSpec = {
  readonly [Name in keyof Rows as Rows[Name] extends { readonly spec: unknown } ? Name : never]: Rows[Name] extends {
    readonly spec: infer Spec extends Schema | Optional;
  }
    ? Spec
    : never;
};

/** What fields of the file become under their own names, as their rows say. */
type FieldParts = ObjectOf<RowsWithSpec>;

/** What is made of several fields, or of where the process stands. */
type OtherParts = {
  /** Process id, or `ID-1` … `ID-n` for the instances of a cluster. */
  readonly id: string;
  readonly command: CommandSpec;
  readonly policy: Policy;
  readonly log: LogSpec;
  /** Present for the instances of a cluster: which, its number from 0, its port. */
  readonly cluster?: { readonly id: string; readonly index: number; readonly port?: number };
  /** Present for the instances of a cluster with a common port: how that is served. */
  readonly front?: FrontSpec;
  /** Present for the instances of a cluster that accept from one socket: where that listens. */
  readonly share?: { readonly hostname: string; readonly port: number };
};

/** One process as it is supervised: a process of the file, or one instance of a cluster. */
export type ProcessSpec = OtherParts & FieldParts;

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
  readonly warnings: readonly ConfigProblem[];
};

/** One thing that is wrong (or doubtful) in a file, with its place. Lines and columns count from 1; 0 where there is no file. */
export type ConfigProblem = {
  /** As shown to people: relative to the current folder where it lies below; empty where there is no file. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Where in the data, as `processes[0].restart`. */
  readonly path: string;
  /** What was found, what is allowed, what to do. */
  readonly message: string;
};

const count = integer({ minimum: 0 });

const otherParts: MembersOf<OtherParts> = {
  id: string(),
  command: union([
    openObject({ kind: literal("shell"), line: string() }),
    openObject({ kind: literal("worker"), script: string(), args: list(string()) }),
  ]),
  policy,
  log: schemaFor<LogSpec>({
    console: boolean(),
    stdout: optional(string()),
    stderr: optional(string()),
    decorateFiles: boolean(),
    rotation: optional(rotation),
    stored: optional(literal(true)),
  }),
  cluster: optional(openObject({ id: string(), index: count, port: optional(count) })),
  front: optional(front),
  share: optional(openObject({ hostname: string(), port: count })),
};

const fieldParts = Object.fromEntries(Object.entries(PROCESS).flatMap(([name, row]) => ("spec" in row ? [[name, row.spec]] : [])));

const processes: Schema<readonly ProcessSpec[]> = list(openObject({ ...otherParts, ...(fieldParts as RowsWithSpec) }));

/** Without `plugins`, which 0.1.0 had not at first. */
type StoredConfig = Omit<Config, "warnings" | "plugins"> & Partial<Pick<Config, "plugins">>;

/**
 * What a service leaves to its successor. Every member is in it: a version that adds one which is never absent does not
 * understand the snapshots of older versions, as each of their processes would seem changed to it, and be restarted.
 */
export const snapshotSchema: Schema<{ readonly config: StoredConfig; readonly leaving: readonly ProcessSpec[] }> = openObject({
  config: schemaFor<StoredConfig>({
    file: string(),
    profile: optional(string()),
    name: string(),
    stateDir: string(),
    processes,
    console: consoleStyle,
    internalLogHours: number(),
    internalLogBytes: number(),
    api: schemaFor<ApiSpec>({ hostname: string(), port: optional(count), revoked: list(string()), cors: optional(list(string())) }),
    watcher: schemaFor<WatcherSpec>({ intervalMs: number(), exts: list(string()), match: list(string()), skip: list(string()) }),
    plugins: optional(list(plugin)),
  }),
  leaving: processes,
});

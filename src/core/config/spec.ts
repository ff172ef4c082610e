/** A configuration after checking: every default filled in, every unit converted, every path absolute, frozen. */
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  type MembersOf,
  map,
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
import { LEVEL_RULES, type LevelRules } from "../contract/levels.ts";
import { GROUP_SCOPES, type GroupScope } from "../contract/token-claims.ts";
import type { FrontSpec } from "../ipc/balancer-protocol.ts";
import type { ConsoleStyle, Rotation } from "../ipc/logger-protocol.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import type { TlsFiles } from "../os/tls-files.ts";
import { POLICY, type Policy } from "../supervisor/restart-policy.ts";
import type { Field } from "./fields/field.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { consoleStyle, type envFile, type envValue, front, plugin, releases, rotation, watcher } from "./spec-parts.ts";

/** What to run: a shell command line, or a JavaScript/TypeScript module in a separate Node process. */
export type CommandSpec =
  | { readonly kind: "shell"; readonly line: string }
  | { readonly kind: "worker"; readonly script: string; readonly args: readonly string[] };

/** A text, the content of a file, or the value of a variable of procman's own environment. */
export type EnvValue = TypeOf<typeof envValue>;

/** Absolute path of an env file; as an object if it may be absent. */
export type EnvFileSpec = TypeOf<typeof envFile>;

export type LogSpec = {
  readonly console: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly decorateFiles: boolean;
  /** Log files that other processes have, too. Absent: none, or the lines have no ids. */
  readonly sharedFiles?: readonly string[];
  readonly rotation?: Rotation;
  /** The output goes to the log store too. */
  readonly stored?: true;
};

/** What counts as a change of a watched path. */
export type WatcherSpec = TypeOf<typeof watcher>;

/** A group of users whose members reach the API without a token. */
export type GroupSpec = {
  /** As in the file: a name, or a number as text. */
  readonly name: string;
  readonly gid: number;
  /** What its members may do. */
  readonly scopes: readonly GroupScope[];
};

/** Where the REST API listens. */
export type ApiSpec = {
  readonly hostname: string;
  /** Absent: any free port. */
  readonly port?: number;
  /** Consumers whose tokens are refused. */
  readonly revoked: readonly string[];
  /** Tokens may execute commands. */
  readonly exec?: true;
  /** Origins whose pages may call the API. Absent: none but its own. */
  readonly cors?: readonly string[];
  /** Names under which a reverse proxy serves it. */
  readonly hosts?: readonly string[];
  /** Has a socket of its own. Absent: procman's user alone has one. */
  readonly group?: GroupSpec;
  /** Absolute paths of certificate and key. Absent: HTTP without TLS. */
  readonly tls?: TlsFiles;
  /** No port, only the Unix socket. */
  readonly isOff?: true;
};

/** How releases are made. */
export type ReleasesSpec = TypeOf<typeof releases>;

type Rows = typeof PROCESS;
type PartsAs<Kind extends "spec" | "copied"> = {
  readonly [Name in keyof Rows as Rows[Name] extends Readonly<Record<Kind, unknown>>
    ? Name
    : never]: Rows[Name] extends Readonly<Record<Kind, infer Part extends Schema | Optional>> ? Part : never;
};
type FieldSchemas = PartsAs<"spec"> & PartsAs<"copied">;

type CopiedPolicy = {
  [Name in keyof Rows]: Rows[Name] extends { readonly policy: infer P } ? P : never;
}[keyof Rows];

/** What is copied of the fields. */
export type Copies = { readonly spec: ObjectOf<PartsAs<"copied">>; readonly policy: Pick<Policy, CopiedPolicy> };

/** Fields of the file that keep their name, with the types of their rows. */
type FieldParts = ObjectOf<FieldSchemas>;

/** Parts computed from several fields, or from the position in a cluster. */
type OtherParts = {
  /** Process id, or `ID-1` … `ID-n` for the instances of a cluster. */
  readonly id: string;
  readonly command: CommandSpec;
  readonly policy: Policy;
  readonly log: LogSpec;
  /** Present for the instances of a cluster: id of the cluster, number from 0, port of the instance, and the configured variable for it. */
  readonly cluster?: {
    readonly id: string;
    readonly index: number;
    readonly port?: number;
    readonly portVariable?: string;
  };
  /** Present for the instances of a cluster with a common port, and for a process that sleeps: how the balancer serves the port. */
  readonly front?: FrontSpec;
  /** Present for the instances of a cluster with a shared socket: its address. */
  readonly share?: { readonly hostname: string; readonly port: number };
};

/** One supervised process: a process of the file, or one instance of a cluster. */
export type ProcessSpec = OtherParts & FieldParts;

/** A file of the configuration. */
export type SourceText = {
  /** Absolute. */
  readonly file: string;
  readonly text: string;
};

export type Config = {
  /** Absolute path of the file; empty for data without a file. */
  readonly file: string;
  /** Name of the profile that was merged. */
  readonly profile?: string;
  /** Absolute paths of the files that it includes. */
  readonly included?: readonly string[];
  /** The file and those that it includes, as they were read; absent: data, or noted by an earlier service. */
  readonly texts?: readonly SourceText[];
  /** `name` of the file, or "procman". */
  readonly name: string;
  /** The state folder: `.procman/NAME` beside the file, or below `$PROCMAN_STATE_DIR`. */
  readonly stateDir: string;
  readonly processes: readonly ProcessSpec[];
  /** The ports that were chosen for "auto", by id of a process or an instance, or of a cluster for its common port. Absent: none. */
  readonly chosenPorts?: Readonly<Record<string, number>>;
  readonly console: ConsoleStyle;
  readonly internalLogHours: number;
  /** Size limit of the log store. */
  readonly internalLogBytes: number;
  /** How lines say their severity. Absent: by the known ways alone. */
  readonly levels?: LevelRules;
  readonly api: ApiSpec;
  readonly watcher: WatcherSpec;
  readonly plugins: readonly PluginSpec[];
  /** Absent: `procman deploy` is refused. */
  readonly releases?: ReleasesSpec;
  readonly warnings: readonly ConfigProblem[];
};

/** One error or warning about a configuration, with its place. Lines and columns count from 1; 0 without a file. */
export type ConfigProblem = {
  /** Relative to the current folder where it lies below it; empty without a file. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Path in the data, such as `processes[0].restart`. */
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
  policy: openObject(POLICY),
  log: schemaFor<LogSpec>({
    console: boolean(),
    stdout: optional(string()),
    stderr: optional(string()),
    decorateFiles: boolean(),
    sharedFiles: optional(list(string())),
    rotation: optional(rotation),
    stored: optional(literal(true)),
  }),
  cluster: optional(
    openObject({ id: string(), index: count, port: optional(count), portVariable: optional(string()) }),
  ),
  front: optional(front),
  share: optional(openObject({ hostname: string(), port: count })),
};

const fieldParts = Object.fromEntries(
  Object.entries<Field>(PROCESS).flatMap(([name, { spec, copied = spec }]) => (copied ? [[name, copied]] : [])),
);

const processes: Schema<readonly ProcessSpec[]> = list(openObject({ ...otherParts, ...(fieldParts as FieldSchemas) }));

type StoredConfig = Omit<Config, "warnings" | "texts">;

/**
 * The configuration snapshot that a service leaves to the next one. Every member must be listed. A new required member
 * makes snapshots of older versions invalid, which is intended: all their processes would otherwise seem changed, and
 * be restarted.
 */
export const snapshotSchema: Schema<{ readonly config: StoredConfig; readonly leaving: readonly ProcessSpec[] }> =
  openObject({
    config: schemaFor<StoredConfig>({
      file: string(),
      profile: optional(string()),
      included: optional(list(string())),
      name: string(),
      stateDir: string(),
      processes,
      chosenPorts: optional(map(count)),
      console: consoleStyle,
      internalLogHours: number(),
      internalLogBytes: number(),
      levels: optional(LEVEL_RULES),
      api: schemaFor<ApiSpec>({
        hostname: string(),
        port: optional(count),
        revoked: list(string()),
        exec: optional(literal(true)),
        cors: optional(list(string())),
        hosts: optional(list(string())),
        group: optional(schemaFor<GroupSpec>({ name: string(), gid: count, scopes: list(enumeration(GROUP_SCOPES)) })),
        tls: optional(schemaFor<TlsFiles>({ certificate: string(), key: string() })),
        isOff: optional(literal(true)),
      }),
      watcher,
      plugins: list(plugin),
      releases: optional(releases),
    }),
    leaving: processes,
  });

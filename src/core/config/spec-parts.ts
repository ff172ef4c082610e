/** Schemas of specification parts whose types other folders declare, for the configuration snapshot. */
import type { ScaleSpec } from "../autoscale/size-schedule.ts";
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  map,
  number,
  openObject,
  optional,
  type Schema,
  schemaFor,
  string,
  union,
} from "../base/schema.ts";
import { IO_CLASSES, type IoPriority, ULIMITS, type Ulimits, type UserAccount } from "../contract/limits.ts";
import type { HealthSpec, Probe, ReadyProbe } from "../contract/probe-spec.ts";
import { type FrontSpec, STRATEGIES, WAKE } from "../ipc/balancer-protocol.ts";
import type { ConsoleStyle, Rotation } from "../ipc/logger-protocol.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import { SHIPPED } from "../plugins/shipped/shipped-plugins.ts";
import { CONDITIONS, type Dependency } from "../supervisor/definition.ts";

const count = integer({ minimum: 0 });

export const envValue = union([string(), openObject({ file: string() }), openObject({ env: string() })]);
/** Absolute path of an env file; as an object if it may be absent. */
export const envFile = union([string(), openObject({ path: string(), optional: literal(true) })]);

/** Standard input: open, or the file with this absolute path. */
export const input = union([literal(true), openObject({ file: string() })]);

const probes = [
  openObject({ kind: literal("port"), port: count }),
  openObject({ kind: literal("http"), hostname: string(), port: count, path: string() }),
  openObject({ kind: literal("exec"), line: string() }),
] as const;

export const ready: Schema<ReadyProbe> = union([
  ...probes,
  openObject({ kind: literal("log"), pattern: string({ format: "regex" }) }),
  openObject({ kind: literal("fd"), fd: count }),
  openObject({ kind: literal("message") }),
]);

/** What counts as a change of a watched path. `exts`: without dot; empty: all extensions. */
export const watcher = openObject({
  intervalMs: number(),
  exts: list(string()),
  match: list(string()),
  skip: list(string()),
});

const releaseCommands = list(openObject({ line: string(), timeoutMs: number() }));

/** Paths are absolute. `metrics`: the most that a number may be, or as a text by how much it may grow. */
export const releases = openObject({
  folder: string(),
  current: string(),
  keep: count,
  prepare: releaseCommands,
  before: releaseCommands,
  after: releaseCommands,
  warm: optional(boolean()),
  gate: optional(
    openObject({
      ms: number(),
      restarts: count,
      refused: optional(count),
      metrics: optional(map(union([number(), string()]))),
    }),
  ),
});

export const health: Schema<HealthSpec> = schemaFor<HealthSpec>({
  probe: union(probes) satisfies Schema<Probe>,
  intervalMs: number(),
  timeoutMs: number(),
  failures: count,
  startMs: number(),
});

export const dependency: Schema<Dependency> = schemaFor<Dependency>({
  id: string(),
  condition: enumeration(CONDITIONS),
  restart: boolean(),
  members: list(string()),
});

export const ulimits: Schema<Ulimits> = openObject(
  Object.fromEntries(ULIMITS.map((name) => [name, optional(number())])),
);

export const ioNice: Schema<IoPriority> = schemaFor<IoPriority>({
  class: enumeration(IO_CLASSES),
  level: optional(count),
});

export const account: Schema<UserAccount> = schemaFor<UserAccount>({
  name: string(),
  uid: count,
  gid: count,
  home: optional(string()),
});

export const scale: Schema<ScaleSpec> = schemaFor<ScaleSpec>({
  min: count,
  max: count,
  targets: list(openObject({ name: string(), limit: number(), capacity: optional(count) })),
  upAfterMs: number(),
  downAfterMs: number(),
  step: optional(count),
  schedules: optional(
    list(openObject({ pattern: string(), timeZone: optional(string()), min: optional(count), max: optional(count) })),
  ),
});

export const rotation: Schema<Rotation> = schemaFor<Rotation>({
  sizeBytes: number(),
  ageMs: number(),
  totalBytes: number(),
  gzip: boolean(),
});

export const consoleStyle: Schema<ConsoleStyle> = schemaFor<ConsoleStyle>({
  decorate: boolean(),
  colors: boolean(),
  format: optional(literal("json")),
  reader: optional(literal("terminal")),
  prefix: optional(literal(false)),
  file: optional(string()),
});

export const front: Schema<FrontSpec> = schemaFor<FrontSpec>({
  id: string(),
  hostname: string(),
  port: count,
  strategy: enumeration(STRATEGIES),
  proxyProtocol: boolean(),
  idleMs: number(),
  maxConnections: optional(count),
  wake: optional(WAKE),
});

/** What a process has that sleeps without clients. `busyFile`: an absolute path. `wakeMs`: how long a client waits on a shared socket. */
export const idle = openObject({ busyFile: optional(string()), wakeMs: optional(number()) });

export const plugin: Schema<PluginSpec> = schemaFor<PluginSpec>({
  id: string(),
  url: string(),
  source: union([
    openObject({ kind: literal("shipped"), name: enumeration(SHIPPED) }),
    openObject({ kind: literal("file"), path: string() }),
    openObject({ kind: literal("package"), name: string(), folder: string() }),
    openObject({ kind: literal("remote"), url: string() }),
  ]),
  integrity: optional(string()),
  options: map({}),
});

/** What a service leaves to its successor about the configuration: the one that the runs of now were started by. */
import { count, either, listOf, literal, mapOf, number, optional, record, type Shape, text, truth } from "../base/shape.ts";
import { STOP_SIGNALS } from "../base/stop-signals.ts";
import { isExpression } from "../config/probes.ts";
import type { Config, LogSpec, ProcessSpec } from "../config/spec.ts";
import { type FrontSpec, STRATEGIES } from "../contract/balancer-protocol.ts";
import type { Account } from "../contract/limits.ts";
import type { Rotation } from "../contract/logger-protocol.ts";
import { type PluginSpec, SHIPPED } from "../contract/plugin-protocol.ts";
import type { HealthSpec } from "../contract/probe.ts";
import { CONDITIONS, type Dependency } from "../supervisor/plan.ts";
import type { Policy } from "../supervisor/restart-policy.ts";
import { isPattern } from "../supervisor/schedule.ts";

/** No process has an id like this. */
export const CONFIGURATION = ":config";

export type Former = {
  readonly config: Config;
  /** No longer in the configuration, and not over yet. */
  readonly leaving: readonly ProcessSpec[];
};

export function writeFormer({ config, leaving }: Former): string {
  return JSON.stringify({ config: { ...config, warnings: [] }, leaving });
}

/** undefined: there is none, or none that is understood here. */
export function readFormer(note: string | undefined): Former | undefined {
  if (note === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(note);
  } catch {
    return undefined;
  }
  if (!shape(value)) return undefined;
  const { config, leaving } = value as Former;
  const { plugins = [] } = config as Partial<Config>;
  return { config: { ...config, plugins, processes: config.processes.map(whole) }, leaving: leaving.map(whole) };
}

/** JSON has no infinity, and says null. */
function whole(spec: ProcessSpec): ProcessSpec {
  const { restartLimit } = spec.policy as { readonly restartLimit: number | null };
  return { ...spec, policy: { ...spec.policy, restartLimit: restartLimit ?? Number.POSITIVE_INFINITY } };
}

/**
 * All members are named: one that a version adds and that is never absent makes the notes of older versions strange, as it
 * must. Otherwise every process would seem changed at an upgrade, and be restarted.
 */
type All<Of> = Readonly<Record<keyof Of, Shape>>;

const pattern: Shape = (value) => typeof value === "string" && isPattern(value);
const command: Shape = either(
  record({ kind: literal("shell"), line: text }),
  record({ kind: literal("worker"), script: text, args: listOf(text) }),
);
const policy = record({
  restart: literal("never", "error", "always"),
  restartDelayMs: optional(number),
  restartLimit: either(count, literal(null)),
  restartResetMs: number,
  graceMs: number,
  terminateMs: number,
  timeoutMs: number,
  readyMs: optional(number),
  waits: truth,
  stopSignal: optional(literal(...STOP_SIGNALS)),
} satisfies All<Policy>);
const probes = [
  record({ kind: literal("port"), port: count }),
  record({ kind: literal("http"), hostname: text, port: count, path: text }),
  record({ kind: literal("exec"), line: text }),
];
const dependency = record({ id: text, condition: literal(...CONDITIONS), restart: truth, members: listOf(text) } satisfies All<Dependency>);
const health = record({
  probe: either(...probes),
  intervalMs: number,
  timeoutMs: number,
  failures: count,
  startMs: number,
} satisfies All<HealthSpec>);
const ready = either(
  ...probes,
  record({ kind: literal("log"), pattern: (value) => typeof value === "string" && isExpression(value) }),
  record({ kind: literal("fd"), fd: count }),
);
const rotation = record({ sizeBytes: number, ageMs: number, totalBytes: number, gzip: truth } satisfies All<Rotation>);
const log = record({
  console: truth,
  stdout: optional(text),
  stderr: optional(text),
  decorateFiles: truth,
  rotation: optional(rotation),
  stored: optional(truth),
} satisfies All<LogSpec>);
const spec = record({
  id: text,
  command,
  cwd: text,
  env: mapOf(either(text, record({ file: text }), record({ env: text }))),
  envFile: optional(listOf(text)),
  path: listOf(text),
  pidFile: optional(text),
  overrun: truth,
  autostart: truth,
  cron: optional(pattern),
  watch: listOf(text),
  terminate: optional(pattern),
  policy,
  log,
  ready: optional(ready),
  dependsOn: optional(listOf(dependency)),
  health: optional(health),
  memoryLimit: optional(number),
  memoryMax: optional(number),
  ulimits: optional(mapOf(number)),
  user: optional(record({ name: text, uid: count, gid: count, home: optional(text) } satisfies All<Account>)),
  group: optional(count),
  nice: optional(number),
  umask: optional((value) => typeof value === "string" && /^[0-7]{3,4}$/.test(value)),
  cluster: optional(record({ id: text, index: count, port: optional(count) })),
  share: optional(record({ hostname: text, port: count })),
  front: optional(
    record({
      id: text,
      hostname: text,
      port: count,
      strategy: literal(...STRATEGIES),
      proxyProtocol: truth,
      idleMs: number,
      maxConnections: optional(count),
    } satisfies All<FrontSpec>),
  ),
} satisfies All<ProcessSpec>);
const source = either(
  record({ kind: literal("shipped"), name: literal(...SHIPPED) }),
  record({ kind: literal("file"), path: text }),
  record({ kind: literal("package"), name: text, folder: text }),
  record({ kind: literal("remote"), url: text }),
);
const plugin = record({ id: text, url: text, source, integrity: optional(text), options: record({}) } satisfies All<PluginSpec>);
const shape = record({
  config: record({
    file: text,
    name: text,
    stateDir: text,
    processes: listOf(spec),
    console: record({ decorate: truth, colors: truth }),
    internalLogHours: number,
    internalLogBytes: number,
    watcher: record({ intervalMs: number, exts: listOf(text), match: listOf(text), skip: listOf(text) }),
    api: record({ hostname: text, port: optional(count), revoked: listOf(text), cors: optional(listOf(text)) }),
    // Absent in notes of versions that had none.
    plugins: optional(listOf(plugin)),
  }),
  leaving: listOf(spec),
});

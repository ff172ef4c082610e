/** From a checked file to specifications: defaults filled in, units converted, paths absolute. */

import { delimiter } from "node:path";
import { compact } from "../base/compact.ts";
import type { LevelRules } from "../contract/levels.ts";
import type { FrontSpec } from "../ipc/balancer-protocol.ts";
import type { Rotation } from "../ipc/logger-protocol.ts";
import { POLICY, type Policy } from "../supervisor/restart-policy.ts";
import { HOOK_NAMES, type HookName } from "../supervisor/states.ts";
import { groupOf } from "./checks/accounts.ts";
import type { CheckContext } from "./checks/checks.ts";
import { fill, filledIn, fillInstance, type Names } from "./checks/command-checks.ts";
import { dependencyOf } from "./checks/dependency-checks.ts";
import { pathIn } from "./checks/home-paths.ts";
import { limitsOf } from "./checks/limit-checks.ts";
import { pluginSpecs } from "./checks/plugin-checks.ts";
import { type Filling, healthSpec, readyProbe } from "./checks/probe-checks.ts";
import { scaleSpec } from "./checks/scale-checks.ts";
import {
  API,
  API_GROUP,
  type RawApi,
  type RawConfig,
  type RawEnvFile,
  type RawEnvValue,
  type RawLogger,
  type RawProcess,
  type RawProcessLogger,
  type RawReleases,
  type RawRotation,
  TOP,
} from "./config-schema.ts";
import { namedPorts, portsById } from "./configured-ports.ts";
import { CLUSTER } from "./fields/cluster-fields.ts";
import { copyOf, type Field, milliseconds } from "./fields/field.ts";
import { HOOK } from "./fields/hook-fields.ts";
import { IDLE } from "./fields/idle-fields.ts";
import { LOGGER, ROTATION } from "./fields/logger-fields.ts";
import { READY } from "./fields/probe-fields.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { GATE, RELEASE_COMMAND, RELEASES } from "./fields/release-fields.ts";
import { WATCHER } from "./fields/watcher-fields.ts";
import { stateDirOf } from "./find-config.ts";
import { type ClusterInstance, instances } from "./instances.ts";
import type {
  ApiSpec,
  CommandSpec,
  Config,
  Copies,
  EnvFileSpec,
  EnvValue,
  LogSpec,
  ProcessSpec,
  ReleasesSpec,
  WatcherSpec,
} from "./spec.ts";
import { parseSize } from "./units.ts";

/** The configuration as the service uses it, without `file` and `warnings`, which the caller adds. */
export function normalise(raw: RawConfig, context: CheckContext): Omit<Config, "file" | "warnings"> {
  const { name = TOP.name.default, logger } = raw;
  const { folder, parallelism, chosenPorts = new Map<string, number>() } = context;
  const ports = portsById(raw, parallelism, chosenPorts);
  const origin = { raw, folder, parallelism, ports, named: namedPorts(raw, ports) };
  return {
    name,
    stateDir: stateDirOf(folder, name),
    processes: withSharedFiles(
      raw.processes.flatMap((process) =>
        instances(process, name, parallelism).map((instance) => specOf(process, instance, origin)),
      ),
    ),
    ...(chosenPorts.size > 0 && { chosenPorts: Object.fromEntries(chosenPorts) }),
    console: {
      decorate: logger?.decorate ?? LOGGER.decorate.default,
      colors: logger?.colors ?? LOGGER.colors.default,
      ...(logger?.format === "json" && { format: "json" }),
      ...(logger?.prefix === false && { prefix: false }),
    },
    internalLogHours: logger?.internalLogHours ?? LOGGER.internalLogHours.default,
    internalLogBytes: parseSize(logger?.internalLogSize ?? LOGGER.internalLogSize.default),
    ...(logger?.levels !== undefined && { levels: logger.levels as LevelRules }),
    api: apiOf(raw, folder),
    watcher: watcherOf(raw.watcher),
    plugins: pluginSpecs(raw.plugins, folder),
    ...(raw.releases !== undefined && { releases: releasesOf(raw.releases, folder) }),
  };
}

function releasesOf(releases: RawReleases, folder: string): ReleasesSpec {
  const { gate } = releases;
  const commands = (step: "prepare" | "before" | "after"): ReleasesSpec["before"] =>
    (releases[step] ?? []).map((command) => {
      const { cmd, timeout = undefined } = typeof command === "string" ? { cmd: command } : command;
      return { line: cmd, timeoutMs: milliseconds(RELEASE_COMMAND.timeout, timeout) };
    });
  return {
    folder: pathIn(folder, releases.folder ?? RELEASES.folder.default),
    current: pathIn(folder, releases.current ?? RELEASES.current.default),
    keep: releases.keep ?? RELEASES.keep.default,
    prepare: commands("prepare"),
    before: commands("before"),
    after: commands("after"),
    ...(releases.warm === true && { warm: true }),
    ...(gate !== undefined && {
      gate: compact({
        ms: gate.seconds * 1_000,
        restarts: gate.restarts ?? GATE.restarts.default,
        refused: gate.refused,
        metrics: gate.metrics,
      }),
    }),
  };
}

function apiOf({ api: written }: Pick<RawConfig, "api">, folder: string): ApiSpec {
  const api = written === false ? undefined : written;
  return {
    hostname: api?.hostname ?? API.hostname.default,
    ...(api?.port !== undefined && { port: api.port }),
    revoked: api?.revoked ?? API.revoked.default,
    ...(api?.exec === true && { exec: true as const }),
    ...(api?.cors?.length && { cors: api.cors.map((origin) => origin.toLowerCase()) }),
    ...(api?.hosts?.length && { hosts: api.hosts.map((host) => host.toLowerCase()) }),
    ...groupOfApi(api?.group),
    ...(api?.tls && {
      tls: { certificate: pathIn(folder, api.tls.certificate), key: pathIn(folder, api.tls.key) },
    }),
    ...(written === false && { isOff: true as const }),
  };
}

/** A group that this machine lacks is an error where that matters; elsewhere it is left out. */
function groupOfApi(group: RawApi["group"]): Pick<ApiSpec, "group"> {
  if (group === undefined) return {};
  const { name, scopes = API_GROUP.scopes.default } = typeof group === "object" ? group : { name: group };
  const gid = groupOf(name);
  return gid === undefined ? {} : { group: { name: String(name), gid, scopes } };
}

/** `own`: that of a process, over that of all. */
function watcherOf(common: RawConfig["watcher"], own: RawConfig["watcher"] = {}): WatcherSpec {
  const {
    interval,
    exts = WATCHER.exts.default,
    match = WATCHER.match.default,
    skip = WATCHER.skip.default,
  } = { ...common, ...own };
  return { intervalMs: milliseconds(WATCHER.interval, interval), exts, match, skip };
}

/** Freezes data recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

type ConfigOrigin = {
  readonly raw: RawConfig;
  readonly folder: string;
  readonly parallelism: number;
  /** By id. */
  readonly ports: ReadonlyMap<string, number>;
  /** For `{port:ID}`. */
  readonly named: ReadonlyMap<string, number>;
};

function specOf(
  process: RawProcess,
  instance: ClusterInstance,
  { raw, folder, parallelism, ports, named }: ConfigOrigin,
): ProcessSpec {
  const port = ports.get(instance.id);
  const cluster = clusterOf(process, instance, port);
  const own = (text: string): string => fillInstance(text, { index: instance.index, port, ports: named });
  const absolute = (path: string): string => pathIn(folder, path, process.user);
  const pathOf = (path: string): string => absolute(filledIn(own(path)));
  const copies = copiesOf(process);
  const { pidFile } = process;
  return {
    id: instance.id,
    ...copies.spec,
    command: commandOf(process, absolute, own),
    cwd: pathOf(process.cwd ?? "."),
    ...environmentOf(process, raw, { absolute, pathOf, own }),
    ...inputOf(process, pathOf),
    watch: (process.watch ?? []).map(absolute),
    ...(process.watcher !== undefined && { watcher: watcherOf(raw.watcher, process.watcher) }),
    policy: { ...copies.policy, ...policyOf(process, raw), ...hooksOf(process, own) },
    log: logSpec(process.logger, raw.logger, { names: instance, absolute }),
    ...(pidFile !== undefined && { pidFile: absolute(fill(pidFile, instance)) }),
    ...schedulesOf(process, raw),
    ...(process.dependsOn?.length && {
      dependsOn: process.dependsOn.map((entry) => dependencyOf(entry, raw, parallelism)),
    }),
    ...(process.ready !== undefined && { ready: readyProbe(process.ready, own) }),
    ...limitsOf(process),
    ...(process.health !== undefined && { health: healthSpec(process.health, own) }),
    ...(process.groups?.length && { groups: [...new Set([process.groups].flat())] }),
    ...idleOf(process, pathOf),
    ...(cluster !== undefined ? { cluster } : port !== undefined && { port }),
    ...frontOf(process, named),
    ...scaleOf(process, raw, parallelism),
  };
}

/** Without a schedule there is nothing that a time zone could change. */
function schedulesOf(
  { cron, terminate, timeZone, catchUp, jitter = 0 }: RawProcess,
  common: RawConfig,
): Pick<ProcessSpec, "timeZone" | "catchUp" | "jitter"> {
  const zone = timeZone ?? common.timeZone;
  return {
    ...(zone !== undefined && (cron ?? terminate) !== undefined && { timeZone: zone }),
    ...(cron !== undefined && catchUp === true && { catchUp }),
    ...(cron !== undefined && jitter > 0 && { jitter: milliseconds(PROCESS.jitter, jitter) }),
  };
}

function scaleOf(process: RawProcess, common: RawConfig, parallelism: number): Pick<ProcessSpec, "scale"> {
  const { scale, cluster, timeZone = common.timeZone } = process;
  return scale === undefined ? {} : { scale: scaleSpec(scale, { cluster, timeZone }, parallelism) };
}

type Fillings = { readonly absolute: Filling; readonly pathOf: Filling; readonly own: Filling };
type Environment = Pick<ProcessSpec, "env" | "envFile" | "path" | "pathFirst">;

/** The environment of all processes with that of this one over it. */
function environmentOf(process: RawProcess, common: RawConfig, { absolute, pathOf, own }: Fillings): Environment {
  const { PATH: _, ...env } = { ...common.env, ...process.env };
  const envFile = [common.envFile ?? [], process.envFile ?? []].flat(2).map((entry) => envFileOf(entry, pathOf));
  const { pathFirst } = process;
  return {
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, envValue(value, pathOf, own)])),
    ...(envFile.length > 0 && { envFile }),
    path: [
      ...folders(process.path),
      ...folders(process.env?.PATH as string | undefined),
      ...folders(common.env?.PATH as string | undefined),
    ].map(absolute),
    ...(pathFirst !== undefined && { pathFirst: folders(pathFirst).map(absolute) }),
  };
}

function inputOf({ stdin = false }: RawProcess, pathOf: Filling): Pick<ProcessSpec, "stdin"> {
  if (typeof stdin === "object") return { stdin: { file: pathOf(stdin.file) } };
  return stdin ? { stdin } : {};
}

function commandOf({ cmd, worker }: RawProcess, absolute: Filling, own: Filling): CommandSpec {
  if (worker === undefined) return { kind: "shell", line: own(cmd ?? "") };
  const [script = "", ...args] = [worker].flat();
  return { kind: "worker", script: absolute(script), args: args.map(own) };
}

function envValue(value: RawEnvValue, pathOf: Filling, own: Filling): EnvValue {
  if (typeof value !== "object") return own(String(value));
  return "file" in value ? { file: pathOf(value.file) } : value;
}

function envFileOf(entry: RawEnvFile, pathOf: Filling): EnvFileSpec {
  const { path, optional = false } = typeof entry === "string" ? { path: entry } : entry;
  return optional ? { path: pathOf(path), optional } : pathOf(path);
}

/** Each entry may itself be a list separated by colons, like the value of PATH. */
function folders(path: string | readonly string[] | undefined): readonly string[] {
  return [path ?? []]
    .flat()
    .flatMap((entry) => filledIn(entry).split(delimiter))
    .filter((entry) => entry !== "");
}

const COPIED = Object.entries<Field>(PROCESS).filter(([, { copied, policy }]) => (copied ?? policy) !== undefined);

/** What the rows say is copied. */
function copiesOf(process: RawProcess): Copies {
  const copies = { spec: {}, policy: {} };
  for (const [name, row] of COPIED) {
    const value = process[name as keyof RawProcess];
    if (row.copied !== undefined) Object.assign(copies.spec, copyOf(row, [name, row.copied], value));
    if (row.policy !== undefined) Object.assign(copies.policy, copyOf(row, [row.policy, POLICY[row.policy]], value));
  }
  return copies as Copies;
}

function policyOf(process: RawProcess, raw: RawConfig): Omit<Policy, keyof Copies["policy"] | HookName> {
  const startsByItself = process.autostart === true || (process.watch?.length ?? 0) > 0;
  const { ready, successExitCodes, idle } = process;
  return {
    restart: process.restart ?? (startsByItself ? "error" : "never"),
    restartLimit: process.restartLimit ?? Infinity,
    graceMs: milliseconds(TOP.terminateGracePeriod, process.terminateGracePeriod ?? raw.terminateGracePeriod),
    terminateMs: milliseconds(TOP.terminateTimeout, process.terminateTimeout ?? raw.terminateTimeout),
    waits: (process.dependsOn?.length ?? 0) > 0,
    ...(successExitCodes?.length && { successExitCodes }),
    ...(ready !== undefined && { readyMs: milliseconds(READY.timeout, ready.timeout) }),
    ...(idle !== undefined && { idleMs: Math.round(idle.after * 1_000) }),
  };
}

function hooksOf({ hooks = {} }: RawProcess, own: Filling): Pick<Policy, HookName> {
  const hookOf = (name: HookName): Pick<Policy, HookName> => {
    const hook = hooks[name];
    if (hook === undefined) return {};
    const { cmd, timeout = undefined } = typeof hook === "string" ? { cmd: hook } : hook;
    return { [name]: { line: own(cmd), timeoutMs: milliseconds(HOOK.timeout, timeout) } };
  };
  return Object.assign({}, ...HOOK_NAMES.map(hookOf));
}

function clusterOf(
  { id, cluster }: RawProcess,
  { index }: ClusterInstance,
  port: number | undefined,
): ProcessSpec["cluster"] {
  if (cluster === undefined || index === undefined) return undefined;
  const { portVariable } = cluster;
  return { id, index, ...(port !== undefined && { port }), ...(portVariable !== undefined && { portVariable }) };
}

type RawIdle = NonNullable<RawProcess["idle"]>;

function idleOf({ idle, cluster }: RawProcess, pathOf: Filling): Pick<ProcessSpec, "idle"> {
  if (idle === undefined) return {};
  const { busyFile, wakeTimeout } = idle;
  const isShared = cluster?.mode === "share";
  return {
    idle: {
      ...(busyFile !== undefined && { busyFile: pathOf(busyFile) }),
      ...(isShared && { wakeMs: milliseconds(IDLE.wakeTimeout, wakeTimeout) }),
    },
  };
}

function wakeOf({ wakeOn = IDLE.wakeOn.default, wakeTimeout, ignore = [] }: RawIdle): NonNullable<FrontSpec["wake"]> {
  const timeoutMs = milliseconds(IDLE.wakeTimeout, wakeTimeout);
  return { on: wakeOn, timeoutMs, ...(ignore.length > 0 && { ignore }) };
}

/** How its clients' port is served, if it has one: that of a cluster, or of a process that sleeps. */
function frontOf(
  { id, cluster, idle }: RawProcess,
  named: ConfigOrigin["named"],
): Pick<ProcessSpec, "front" | "share"> {
  const { mode, hostname = CLUSTER.hostname.default } = cluster ?? {};
  const port = cluster === undefined && idle === undefined ? undefined : named.get(id);
  if (port === undefined) return {};
  if (mode === "share") return { share: { hostname, port } };
  const {
    strategy = CLUSTER.strategy.default,
    proxyProtocol = CLUSTER.proxyProtocol.default,
    idleTimeout,
    maxConnections,
  } = cluster ?? {};
  const limits = {
    idleMs: milliseconds(CLUSTER.idleTimeout, idleTimeout),
    ...(maxConnections !== undefined && { maxConnections }),
    ...(idle !== undefined && { wake: wakeOf(idle) }),
  };
  return { front: { id, hostname, port, strategy, proxyProtocol, ...limits } };
}

type ProcessSettings = RawProcessLogger | undefined;

/** Logger settings of one instance: its own, then the global ones, then the defaults. File names are absolute, their placeholders filled in. */
function logSpec(
  settings: ProcessSettings,
  global: RawLogger | undefined,
  { names, absolute }: { readonly names: Names; readonly absolute: (path: string) => string },
): LogSpec {
  const fileOf = (pattern: string | undefined): string | undefined =>
    pattern === undefined ? undefined : absolute(fill(pattern, names));
  const stdout = fileOf(settings?.stdout ?? global?.stdout);
  // A process's own file for standard output takes standard error too, whatever the global logger says.
  const stderr = fileOf(settings?.stderr ?? (settings?.stdout === undefined ? global?.stderr : undefined));
  const rotation = rotationOf(settings?.rotate, global?.rotate);
  return compact({
    console: settings?.console ?? global?.console ?? LOGGER.console.default,
    decorateFiles: settings?.decorateFiles ?? global?.decorateFiles ?? LOGGER.decorateFiles.default,
    stdout,
    stderr,
    rotation,
    ...((global?.internalLogHours ?? LOGGER.internalLogHours.default) > 0 && { stored: true as const }),
  });
}

/** Names in each specification those of its files in which lines need an id. */
function withSharedFiles(specs: readonly ProcessSpec[]): readonly ProcessSpec[] {
  const users = new Map<string, number>();
  for (const { log } of specs) for (const file of filesOf(log)) users.set(file, (users.get(file) ?? 0) + 1);
  return specs.map((spec) => {
    const sharedFiles = spec.log.decorateFiles ? filesOf(spec.log).filter((file) => (users.get(file) ?? 0) > 1) : [];
    return sharedFiles.length === 0 ? spec : { ...spec, log: { ...spec.log, sharedFiles } };
  });
}

function filesOf({ stdout, stderr }: LogSpec): readonly string[] {
  return [...new Set([stdout ?? [], stderr ?? []].flat())];
}

/** Whether the output goes anywhere. */
export function isCaptured({ console, stdout, stderr, stored }: LogSpec): boolean {
  return stored === true || console || stdout !== undefined || stderr !== undefined;
}

function rotationOf(settings: RawRotation | undefined, global: RawRotation | undefined): Rotation | undefined {
  if ((settings ?? global) === false) return undefined;
  const { size, hours, total, gzip } = { ...(global || {}), ...(settings || {}) };
  return {
    sizeBytes: parseSize(size ?? ROTATION.size.default),
    ageMs: milliseconds(ROTATION.hours, hours),
    totalBytes: parseSize(total ?? ROTATION.total.default),
    gzip: gzip ?? ROTATION.gzip.default,
  };
}

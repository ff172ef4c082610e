/** From a checked file to what is supervised: defaults filled in, units converted, paths absolute, frozen. */
import { delimiter, resolve } from "node:path";
import type { Policy } from "../supervisor/restart-policy.ts";
import type { Surroundings } from "./checks.ts";
import { dependencyOf } from "./dependencies.ts";
import { type Instance, instances } from "./instances.ts";
import { limitsOf } from "./limits.ts";
import { DEFAULT_NAME, stateDirOf } from "./locate.ts";
import { INTERNAL_LOG_HOURS, logSpec } from "./log-spec.ts";
import { fill } from "./placeholders.ts";
import { pluginSpecs } from "./plugin-spec.ts";
import { healthSpec, readyProbe } from "./probes.ts";
import type { RawConfig, RawProcess } from "./schema.ts";
import type { Command, Config, EnvValue, ProcessSpec, WatcherSpec } from "./spec.ts";
import { milliseconds, parseSize } from "./units.ts";
import { filledIn } from "./variables.ts";

const GRACE_SECONDS = 0;
const TERMINATE_SECONDS = 30;
const READY_SECONDS = 30;
const RESTART_RESET_MS = 60_000;
const INTERNAL_LOG_SIZE = "1GB";
const API_HOSTNAME = "127.0.0.1";
const FRONT_HOSTNAME = "127.0.0.1";
const WATCH_INTERVAL_MS = 1_000;
const WATCH_EXTS = ["ts", "tsx", "js", "jsx", "json"];
const WATCH_MATCH = ["**/*.*"];
const WATCH_SKIP = ["**/.git/**"];

/** The configuration as the service uses it, but for `file` and `warnings`, which only the reader knows. */
export function normalise(raw: RawConfig, around: Surroundings): Omit<Config, "file" | "warnings"> {
  const { name = DEFAULT_NAME, logger, api } = raw;
  return {
    name,
    stateDir: stateDirOf(around.folder, name),
    processes: raw.processes.flatMap((process) =>
      instances(process, name, around.parallelism).map((instance) =>
        specOf(process, instance, { raw, folder: around.folder, parallelism: around.parallelism }),
      ),
    ),
    console: { decorate: logger?.decorate ?? false, colors: logger?.colors ?? false },
    internalLogHours: logger?.internalLogHours ?? INTERNAL_LOG_HOURS,
    internalLogBytes: parseSize(logger?.internalLogSize ?? INTERNAL_LOG_SIZE),
    api: {
      hostname: api?.hostname ?? API_HOSTNAME,
      ...(api?.port !== undefined && { port: api.port }),
      revoked: api?.revoked ?? [],
      ...(api?.cors !== undefined && { cors: api.cors.map((origin) => origin.toLowerCase()) }),
    },
    watcher: watcherOf(raw),
    plugins: pluginSpecs(raw.plugins, around.folder),
  };
}

function watcherOf({ watcher = {} }: RawConfig): WatcherSpec {
  const { interval = WATCH_INTERVAL_MS, exts = WATCH_EXTS, match = WATCH_MATCH, skip = WATCH_SKIP } = watcher;
  return { intervalMs: interval, exts, match, skip };
}

/** With its lists and plain objects copied to their depth. */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
}

/** Makes data unchangeable to its depth. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

type Origin = { readonly raw: RawConfig; readonly folder: string; readonly parallelism: number };

function specOf(process: RawProcess, instance: Instance, { raw, folder, parallelism }: Origin): ProcessSpec {
  const { PATH, ...env } = process.env ?? {};
  const place = (path: string): string => resolve(folder, filledIn(path));
  const envFile = [process.envFile ?? []].flat().map(place);
  const { cron, terminate, pidFile } = process;
  const cluster = clusterOf(process, instance);
  return {
    id: instance.id,
    command: commandOf(process, folder),
    cwd: place(process.cwd ?? "."),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, envValue(value, place)])),
    ...(envFile.length > 0 && { envFile }),
    path: [...folders(process.path), ...folders(PATH as string | undefined)].map((entry) => resolve(folder, entry)),
    overrun: process.overrun ?? false,
    autostart: process.autostart ?? false,
    watch: (process.watch ?? []).map((path) => resolve(folder, path)),
    policy: policyOf(process, raw),
    log: logSpec(process.logger, raw.logger, { names: instance, folder }),
    ...(pidFile !== undefined && { pidFile: resolve(folder, fill(pidFile, instance)) }),
    ...(cron !== undefined && { cron }),
    ...(terminate !== undefined && { terminate }),
    ...(process.dependsOn?.length && { dependsOn: process.dependsOn.map((entry) => dependencyOf(entry, raw, parallelism)) }),
    ...(process.ready !== undefined && { ready: readyProbe(process.ready, cluster?.port) }),
    ...limitsOf(process),
    ...(process.health !== undefined && { health: healthSpec(process.health, cluster?.port) }),
    ...(cluster !== undefined && { cluster, ...frontOf(process) }),
  };
}

function commandOf({ cmd, worker }: RawProcess, folder: string): Command {
  if (worker === undefined) return { kind: "shell", line: cmd ?? "" };
  const [script = "", ...args] = [worker].flat();
  return { kind: "worker", script: resolve(folder, script), args };
}

function envValue(value: EnvValue, place: (path: string) => string): EnvValue {
  return typeof value === "object" && "file" in value ? { file: place(value.file) } : value;
}

/** Each entry may itself be a list, as the value of PATH is. */
function folders(path: string | readonly string[] | undefined): readonly string[] {
  return [path ?? []]
    .flat()
    .flatMap((entry) => filledIn(entry).split(delimiter))
    .filter((entry) => entry !== "");
}

function policyOf(process: RawProcess, raw: RawConfig): Policy {
  const startsByItself = process.autostart === true || (process.watch?.length ?? 0) > 0;
  const { restartDelayMs, ready, stopSignal } = process;
  return {
    restart: process.restart ?? (startsByItself ? "error" : "never"),
    restartLimit: process.restartLimit ?? Infinity,
    restartResetMs: process.restartResetMs ?? RESTART_RESET_MS,
    graceMs: milliseconds(process.terminateGracePeriod ?? raw.terminateGracePeriod ?? GRACE_SECONDS),
    terminateMs: milliseconds(process.terminateTimeout ?? raw.terminateTimeout ?? TERMINATE_SECONDS),
    timeoutMs: milliseconds(process.timeout ?? 0),
    waits: (process.dependsOn?.length ?? 0) > 0,
    ...(restartDelayMs !== undefined && { restartDelayMs }),
    ...(stopSignal !== undefined && { stopSignal }),
    ...(ready !== undefined && { readyMs: milliseconds(ready.timeout ?? READY_SECONDS) }),
  };
}

function clusterOf({ id, cluster }: RawProcess, { index }: Instance): ProcessSpec["cluster"] {
  if (cluster === undefined || index === undefined) return undefined;
  const { startPort } = cluster;
  return { id, index, ...(startPort !== undefined && { port: startPort + index }) };
}

/** How its common port is served, if it has one. */
function frontOf({ id, cluster }: RawProcess): Pick<ProcessSpec, "front" | "share"> {
  const { mode, commonPort, hostname = FRONT_HOSTNAME, strategy = "round-robin", proxyProtocol = false } = cluster ?? {};
  if (commonPort === undefined) return {};
  if (mode === "share") return { share: { hostname, port: commonPort } };
  const { idleTimeout = 0, maxConnections } = cluster ?? {};
  const limits = { idleMs: milliseconds(idleTimeout), ...(maxConnections !== undefined && { maxConnections }) };
  return { front: { id, hostname, port: commonPort, strategy, proxyProtocol, ...limits } };
}

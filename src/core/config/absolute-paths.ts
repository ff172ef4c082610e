/** Makes every path of a configuration absolute, also those of its profiles, so that its file can lie anywhere. */
import { delimiter, resolve } from "node:path";
import type { Configuration } from "../../../generated/configuration.ts";
import { expand, ownMember } from "../base/interpolate.ts";
import { isObject } from "../base/schema-check.ts";
import { withHome } from "./checks/home-paths.ts";
import { sourceOf } from "./checks/plugin-checks.ts";
import { RELEASES } from "./fields/release-fields.ts";

/** A part of a configuration. Those of profiles may be invalid: what isn't understood stays as it is. */
type ConfigPart = Readonly<Record<string, unknown>>;

/** `folder`: what relative paths resolve from, and the default of `cwd`. The configuration must be valid. */
export function withAbsolutePaths(config: Configuration, folder: string): Configuration {
  const { profiles = {}, defaults = {} } = config;
  // A profile that takes all defaults away leaves the folder.
  const none = { ...Object.fromEntries(Object.keys(defaults).map((name) => [name, null])), cwd: "." };
  const absolute = Object.entries(profiles).map(([name, part]) => {
    const profile = part.defaults === null ? { ...part, defaults: none } : part;
    return [name, absolutePart(profile, folder)] as const;
  });
  const whole = { ...config, defaults: { ...defaults, cwd: defaults.cwd ?? "." } };
  const base = absolutePart(whole, folder) as Configuration;
  return absolute.length === 0 ? base : { ...base, profiles: Object.fromEntries(absolute) };
}

function absolutePart(part: ConfigPart, folder: string): ConfigPart {
  const { defaults, logger, plugins, processes, include, api, releases } = part;
  return {
    ...part,
    ...(defaults !== undefined && { defaults: absoluteProcess(defaults, folder) }),
    ...(include !== undefined && { include: eachText(include, (pattern) => absolutePath(pattern, folder)) }),
    ...absoluteEnvironment(part, folder),
    ...withLogger(logger, folder),
    ...withTls(api, folder),
    ...(isObject(releases) && { releases: absoluteReleases(releases, folder) }),
    ...(Array.isArray(plugins) && { plugins: plugins.map((plugin) => absolutePlugin(plugin, folder)) }),
    ...(Array.isArray(processes) && {
      processes: processes.map((process) => absoluteProcess(process, folder)),
    }),
  };
}

function absoluteReleases(releases: ConfigPart, folder: string): ConfigPart {
  const { folder: place = RELEASES.folder.default, current = RELEASES.current.default } = releases;
  const absolute = (path: unknown): unknown => eachText(path, (text) => absolutePath(text, folder));
  return { ...releases, folder: absolute(place), current: absolute(current) };
}

function absolutePlugin(plugin: unknown, folder: string): unknown {
  if (!isObject(plugin) || typeof plugin.url !== "string" || plugin.url.startsWith("file:")) return plugin;
  const source = sourceOf(plugin.url, folder);
  return source.kind === "file" ? { ...plugin, url: source.path } : plugin;
}

/** The fields of a process, which may be invalid. */
export function absoluteProcess(process: unknown, folder: string): unknown {
  if (!isObject(process)) return process;
  const { worker, logger, stdin, idle } = process;
  const absolute = (entry: string): string => absolutePath(entry, folder);
  const expanded = (entry: string): string => expandedPaths(entry, (text) => absolute(text));
  const absoluteList = (entry: string): string => absolutePathList(entry, folder);
  const withMember = (name: string, change: (text: string) => string): ConfigPart =>
    process[name] === undefined ? {} : { [name]: eachText(process[name], change) };
  return {
    ...process,
    // Without what it inherits it runs in the folder of its file.
    ...(process.cwd === null ? { cwd: expanded(".") } : withMember("cwd", expanded)),
    ...absoluteEnvironment(process, folder),
    ...withMember("path", absoluteList),
    ...withMember("pathFirst", absoluteList),
    ...withMember("pidFile", absolute),
    ...(isObject(stdin) && { stdin: { ...stdin, file: eachText(stdin.file, expanded) } }),
    ...(isObject(idle) && { idle: { ...idle, busyFile: eachText(idle.busyFile, expanded) } }),
    ...withMember("watch", absolute),
    ...(Array.isArray(worker)
      ? { worker: [eachText(worker[0], absolute), ...worker.slice(1)] }
      : withMember("worker", absolute)),
    ...withLogger(logger, folder),
  };
}

/** `env` and `envFile` of a process, or of the top level. */
function absoluteEnvironment({ env, envFile }: ConfigPart, folder: string): ConfigPart {
  const expanded = (entry: string): string => expandedPaths(entry, (text) => absolutePath(text, folder));
  const absoluteFile = (entry: unknown): unknown =>
    isObject(entry) ? { ...entry, path: eachText(entry.path, expanded) } : eachText(entry, expanded);
  return {
    ...(isObject(env) && { env: absoluteEnv(env, expanded, (entry) => absolutePathList(entry, folder)) }),
    ...(envFile !== undefined && {
      envFile: Array.isArray(envFile) ? envFile.map(absoluteFile) : absoluteFile(envFile),
    }),
  };
}

/** Folders separated like those of PATH. */
function absolutePathList(entry: string, folder: string): string {
  const absolute = (path: string): string => absolutePath(path, folder);
  return expandedPaths(entry, (text) => splitPath(text).map(absolute).join(delimiter) || text);
}

type ChangePath = (path: string) => string;

function absoluteEnv(env: ConfigPart, expanded: ChangePath, absoluteList: ChangePath): ConfigPart {
  const absoluteVariable = ([name, value]: readonly [string, unknown]): readonly [string, unknown] => {
    if (isObject(value) && typeof value.file === "string") return [name, { ...value, file: expanded(value.file) }];
    return [name, name === "PATH" ? eachText(value, absoluteList) : value];
  };
  return Object.fromEntries(Object.entries(env).map(absoluteVariable));
}

function withTls(api: unknown, folder: string): ConfigPart {
  if (!isObject(api) || !isObject(api.tls)) return {};
  const absolute = Object.entries(api.tls).map(([name, path]) => [
    name,
    eachText(path, (text) => absolutePath(text, folder)),
  ]);
  return { api: { ...api, tls: Object.fromEntries(absolute) } };
}

function withLogger(logger: unknown, folder: string): ConfigPart {
  if (!isObject(logger)) return {};
  const files = (["stdout", "stderr"] as const).filter((name) => typeof logger[name] === "string");
  const absolute = files.map((name) => [name, absolutePath(logger[name] as string, folder)]);
  return { logger: { ...logger, ...Object.fromEntries(absolute) } };
}

/** Fills in variables, which may hold the separators. Without such a variable the text stays. A `${` of the result is written so that it stays one. */
function expandedPaths(text: string, change: ChangePath): string {
  const { text: expanded, missing } = expand(text, (name) => ownMember(process.env, name));
  return missing.length > 0 ? text : change(expanded).replaceAll("${", () => "$${");
}

function splitPath(path: string): readonly string[] {
  return path.split(delimiter).filter((entry) => entry !== "");
}

/** A path in a home folder stays: whose home it is depends on the process. */
function absolutePath(path: string, folder: string): string {
  return withHome(path) === path ? resolve(folder, path) : path;
}

/** Changes a text, or each of a list. */
function eachText(value: unknown, change: ChangePath): unknown {
  if (Array.isArray(value)) return value.map((entry) => eachText(entry, change));
  return typeof value === "string" ? change(value) : value;
}

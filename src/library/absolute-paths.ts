/** Makes every path of a configuration absolute, so that its file can lie anywhere. */
import { delimiter, resolve } from "node:path";
import { expand, ownMember } from "../base/interpolate.ts";
import { withHome } from "../config/checks/home-paths.ts";
import { sourceOf } from "../config/checks/plugin-checks.ts";
import type { Configuration, LoggerConfiguration, ProcessConfiguration } from "./configuration.ts";

type Environment = NonNullable<ProcessConfiguration["env"]>;

/** `folder`: what relative paths resolve from. The configuration must be valid. */
export function withAbsolutePaths(config: Configuration, folder: string): Configuration {
  const { logger, plugins, processes } = config;
  return {
    ...config,
    ...(logger === undefined ? {} : { logger: { ...logger, ...absoluteLogFiles(logger, folder) } }),
    ...(plugins === undefined ? {} : { plugins: plugins.map((plugin) => ({ ...plugin, url: absoluteUrl(plugin.url, folder) })) }),
    processes: processes.map((process) => absoluteProcess(process, folder)),
  };
}

function absoluteUrl(url: string, folder: string): string {
  const source = sourceOf(url, folder);
  return source.kind === "file" ? source.path : url;
}

function absoluteProcess(process: ProcessConfiguration, folder: string): ProcessConfiguration {
  const { cwd = ".", env, envFile, path, pidFile, watch, worker, logger } = process;
  const absolute = (entry: string): string => absolutePath(entry, folder);
  const absoluteExpanded = (entry: string): string => absolute(expand(entry, (name) => ownMember(globalThis.process.env, name)).text);
  const folders = [path ?? []].flat().flatMap(splitPath).map(absoluteExpanded);
  return {
    ...process,
    cwd: absoluteExpanded(cwd),
    ...(env === undefined ? {} : { env: absoluteEnv(env, absoluteExpanded) }),
    ...(envFile === undefined ? {} : { envFile: [envFile].flat().map(absoluteExpanded) }),
    ...(folders.length === 0 ? {} : { path: folders }),
    ...(pidFile === undefined ? {} : { pidFile: absolute(pidFile) }),
    ...(watch === undefined ? {} : { watch: watch.map(absolute) }),
    ...(worker === undefined ? {} : { worker: absoluteWorker(worker, absolute) }),
    ...(logger === undefined ? {} : { logger: { ...logger, ...absoluteLogFiles(logger, folder) } }),
  };
}

function absoluteEnv(env: Environment, absoluteExpanded: (entry: string) => string): Environment {
  const absoluteVariable = ([name, value]: [string, Environment[string]]): [string, Environment[string]] => {
    if (typeof value === "object" && "file" in value) return [name, { file: absoluteExpanded(value.file) }];
    return [name, name === "PATH" && typeof value === "string" ? splitPath(value).map(absoluteExpanded).join(delimiter) : value];
  };
  return Object.fromEntries(Object.entries(env).map(absoluteVariable));
}

function absoluteWorker(worker: string | readonly string[], absolute: (entry: string) => string): string | readonly string[] {
  if (typeof worker === "string") return absolute(worker);
  const [script = "", ...args] = worker;
  return [absolute(script), ...args];
}

function splitPath(path: string): readonly string[] {
  return path.split(delimiter).filter((entry) => entry !== "");
}

function absoluteLogFiles({ stdout, stderr }: LoggerConfiguration, folder: string): Pick<LoggerConfiguration, "stdout" | "stderr"> {
  return {
    ...(stdout === undefined ? {} : { stdout: absolutePath(stdout, folder) }),
    ...(stderr === undefined ? {} : { stderr: absolutePath(stderr, folder) }),
  };
}

/** A path in a home folder stays: whose home it is depends on the process. */
function absolutePath(path: string, folder: string): string {
  return withHome(path) === path ? resolve(folder, path) : path;
}

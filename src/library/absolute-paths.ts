/** A configuration that means the same wherever its file lies: every path in it absolute. */
import { delimiter, resolve } from "node:path";
import { expand } from "../base/interpolate.ts";
import type { Configuration, LoggerConfiguration, ProcessConfiguration } from "./configuration.ts";

type Environment = NonNullable<ProcessConfiguration["env"]>;

/** `folder`: where its paths resolve from now. It must be valid. */
export function rooted(config: Configuration, folder: string): Configuration {
  const { logger, processes } = config;
  return {
    ...config,
    ...(logger === undefined ? {} : { logger: { ...logger, ...rootedFiles(logger, folder) } }),
    processes: processes.map((process) => rootedProcess(process, folder)),
  };
}

function rootedProcess(process: ProcessConfiguration, folder: string): ProcessConfiguration {
  const { cwd = ".", env, envFile, path, pidFile, watch, worker, logger } = process;
  const root = (entry: string): string => resolve(folder, entry);
  const place = (entry: string): string => root(expand(entry, (name) => globalThis.process.env[name]).text);
  const folders = [path ?? []].flat().flatMap(eachFolder).map(place);
  return {
    ...process,
    cwd: place(cwd),
    ...(env === undefined ? {} : { env: rootedEnv(env, place) }),
    ...(envFile === undefined ? {} : { envFile: [envFile].flat().map(place) }),
    ...(folders.length === 0 ? {} : { path: folders }),
    ...(pidFile === undefined ? {} : { pidFile: root(pidFile) }),
    ...(watch === undefined ? {} : { watch: watch.map(root) }),
    ...(worker === undefined ? {} : { worker: rootedWorker(worker, root) }),
    ...(logger === undefined ? {} : { logger: { ...logger, ...rootedFiles(logger, folder) } }),
  };
}

function rootedEnv(env: Environment, place: (entry: string) => string): Environment {
  const rooted = ([name, value]: [string, Environment[string]]): [string, Environment[string]] => {
    if (typeof value === "object" && "file" in value) return [name, { file: place(value.file) }];
    return [name, name === "PATH" && typeof value === "string" ? eachFolder(value).map(place).join(delimiter) : value];
  };
  return Object.fromEntries(Object.entries(env).map(rooted));
}

function rootedWorker(worker: string | readonly string[], root: (entry: string) => string): string | readonly string[] {
  if (typeof worker === "string") return root(worker);
  const [script = "", ...args] = worker;
  return [root(script), ...args];
}

function eachFolder(path: string): readonly string[] {
  return path.split(delimiter).filter((entry) => entry !== "");
}

function rootedFiles({ stdout, stderr }: LoggerConfiguration, folder: string): Pick<LoggerConfiguration, "stdout" | "stderr"> {
  return {
    ...(stdout === undefined ? {} : { stdout: resolve(folder, stdout) }),
    ...(stderr === undefined ? {} : { stderr: resolve(folder, stderr) }),
  };
}

/** A configuration that means the same wherever its file lies: every path in it absolute. */
import { delimiter, resolve } from "node:path";
import type { Configuration, LoggerConfiguration, ProcessConfiguration } from "./configuration.ts";

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
  const { cwd = ".", env, path, pidFile, watch, worker, logger } = process;
  const root = (entry: string): string => resolve(folder, entry);
  const folders = [path ?? []].flat().flatMap(eachFolder).map(root);
  return {
    ...process,
    cwd: root(cwd),
    ...(env?.PATH === undefined ? {} : { env: { ...env, PATH: eachFolder(env.PATH).map(root).join(delimiter) } }),
    ...(folders.length === 0 ? {} : { path: folders }),
    ...(pidFile === undefined ? {} : { pidFile: root(pidFile) }),
    ...(watch === undefined ? {} : { watch: watch.map(root) }),
    ...(worker === undefined ? {} : { worker: rootedWorker(worker, root) }),
    ...(logger === undefined ? {} : { logger: { ...logger, ...rootedFiles(logger, folder) } }),
  };
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

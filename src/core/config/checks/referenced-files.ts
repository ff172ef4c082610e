/** Files that a configuration names and that are read when a run or a plugin starts. Problems are warnings, as the files may change until then. */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { readEnvFile } from "../../base/env-file.ts";
import { packageOf } from "../../ipc/plugin-protocol.ts";
import { readWhole } from "../../os/careful-files.ts";
import { statIfSeen } from "../../os/files.ts";
import { startFolder } from "../../os/start-folder.ts";
import { expiryOf, readTlsFiles } from "../../os/tls-files.ts";
import { displayPath } from "../config-file.ts";
import type { JsonPath } from "../document.ts";
import { instances } from "../instances.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { envFilesIn, fileOf, filledIn, fillInstance, portsNamedIn } from "./command-checks.ts";
import { pathIn } from "./home-paths.ts";
import { sourceOf } from "./plugin-checks.ts";

/** At most so many faults of an env file are listed. */
const MAX_LISTED = 5;

/** `folder`: of the configuration file. `parallelism`: the number of instances that "max" means. */
export function fileWarnings(
  { processes = [], plugins = [], envFile, api }: PartialConfig,
  { folder, parallelism }: FilesContext,
): readonly Finding[] {
  const seen = new Set<string>();
  // A file that several processes share is reported once.
  const isNew = (file: string): boolean => seen.size !== seen.add(file).size;
  return [
    ...envFileWarnings(envFile, ["envFile"], (path) =>
      processes.flatMap((process) => filesFor(path, process ?? {}, { folder, parallelism })).filter(isNew),
    ),
    ...processes.flatMap((process, index) => [
      ...scriptWarnings(process ?? {}, ["processes", index, "worker"], folder),
      ...inputWarnings(process ?? {}, ["processes", index, "stdin", "file"], { folder, parallelism }),
      ...envFileWarnings(process?.envFile, ["processes", index, "envFile"], (path) =>
        filesFor(path, process ?? {}, { folder, parallelism }).filter(isNew),
      ),
    ]),
    ...plugins.flatMap((plugin, index) => pluginWarnings(plugin?.url, ["plugins", index, "url"], folder)),
    ...tlsWarnings(api, folder),
  ];
}

function scriptWarnings({ worker, user }: PartialProcess, path: JsonPath, folder: string): readonly Finding[] {
  const [script] = [worker].flat();
  const file = script === undefined ? undefined : pathIn(folder, script, user);
  if (file === undefined || existsSync(file)) return [];
  const message = `Found ${show(script)}, but there is no file ${shownPath(file)}; create it, or correct "worker".`;
  return [{ path: typeof worker === "string" ? path : [...path, 0], message }];
}

function inputWarnings(process: PartialProcess, path: JsonPath, context: FilesContext): readonly Finding[] {
  const file = fileOf(process.stdin);
  if (typeof file !== "string") return [];
  return filesFor(file, process, context).flatMap((each): readonly Finding[] => {
    const problem = whyNoInput(each);
    return problem === undefined ? [] : [{ path, message: `Found ${show(file)}: ${problem}.` }];
  });
}

function whyNoInput(file: string): string | undefined {
  const stat = statIfSeen(file);
  if (stat === undefined)
    return `there is no file ${shownPath(file)}, without which its process can't start; create it, or correct "stdin"`;
  return stat.isDirectory() ? `${shownPath(file)} is a folder; correct "stdin"` : undefined;
}

type FilesContext = { readonly folder: string; readonly parallelism: number };

/** Absolute paths: one for each instance, if the path has placeholders. Without those that need a port which isn't chosen yet. */
export function filesFor(
  path: string,
  process: PartialProcess,
  { folder, parallelism }: FilesContext,
): readonly string[] {
  const { port, cluster: { startPort } = {} } = process;
  return instances(process, "", parallelism).flatMap(({ index }) => {
    const own = index === undefined ? port : typeof startPort === "number" ? startPort + index : startPort;
    const filled = fillInstance(path, { index, ...(typeof own === "number" && { port: own }) });
    const isUnknown = portsNamedIn(filled).length > 0 || (own === "auto" && filled.includes("{port}"));
    return isUnknown ? [] : [pathIn(folder, filledIn(filled), process.user)];
  });
}

/** `filesOf`: the absolute paths that were not checked already. */
function envFileWarnings(
  envFile: PartialProcess["envFile"],
  path: JsonPath,
  filesOf: (path: string) => readonly string[],
): readonly Finding[] {
  return envFilesIn(envFile, path).flatMap(({ file, place, isOptional }) => {
    const files = filesOf(file).filter((each) => !isOptional || existsSync(each));
    return files.flatMap(problemsOf).map((problem) => ({ path: place, message: `Found ${show(file)}: ${problem}.` }));
  });
}

function problemsOf(file: string): readonly string[] {
  try {
    const { faults } = readEnvFile(readWhole(file).toString("utf8"));
    const listed = faults.slice(0, MAX_LISTED).map(({ line, problem }) => `${shownPath(file)}:${line} ${problem}`);
    return faults.length > MAX_LISTED
      ? [...listed, `${faults.length - MAX_LISTED} more lines of ${shownPath(file)} are malformed, too`]
      : listed;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      return [
        `there is no file ${shownPath(file)}, without which its process can't start; create it, or correct "envFile"`,
      ];
    return [
      `${shownPath(file)} can't be read: ${code === "EISDIR" ? "it is a folder" : message.replace(/^E[A-Z]+: /, "")}`,
    ];
  }
}

function pluginWarnings(url: string | undefined, path: JsonPath, folder: string): readonly Finding[] {
  const source = url === undefined ? undefined : sourceOf(url, folder);
  if (source?.kind === "file") {
    const message = `Found ${show(url)}, but there is no file ${shownPath(source.path)}; create it, or correct "url".`;
    return existsSync(source.path) ? [] : [{ path, message }];
  }
  if (source?.kind !== "package" || isInstalled(packageOf(source.name), folder)) return [];
  const name = packageOf(source.name);
  const remedy = `\`npm install ${name}\` there, or write "./${source.name}" for a file`;
  const message = `Found ${show(url)}, but there is no package ${show(name)} in ${join(folder, "node_modules")} or above; ${remedy}.`;
  return [{ path, message }];
}

function tlsWarnings(api: PartialConfig["api"], folder: string): readonly Finding[] {
  const { certificate, key } = (api === false ? undefined : api?.tls) ?? {};
  if (certificate === undefined || key === undefined) return [];
  try {
    const expired = expiryOf(readTlsFiles({ certificate: pathIn(folder, certificate), key: pathIn(folder, key) }));
    return expired === undefined
      ? []
      : [{ path: ["api", "tls", "certificate"], message: `Found ${show(certificate)}: ${expired}.` }];
  } catch (error) {
    return [{ path: ["api", "tls"], message: `Found files that can't be used: ${(error as Error).message}.` }];
  }
}

/** Whether an import from that folder finds the package. Names with `#` are mapped by the package.json there, and not checked. */
function isInstalled(name: string, folder: string): boolean {
  if (name.startsWith("#") || isBuiltin(name)) return true;
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, "node_modules", name)) || nameIn(join(at, "package.json")) === name) return true;
    if (dirname(at) === at) return false;
  }
}

/** Name of a package.json: a package may import itself. */
function nameIn(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { readonly name?: unknown }).name;
  } catch {
    return undefined;
  }
}

function shownPath(file: string): string {
  return displayPath(file, startFolder(file));
}

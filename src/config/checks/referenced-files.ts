/** The files that a configuration names and that are read later, when a run or a plugin starts: what that will find, as warnings, since it may be another by then. */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { readEnvFile } from "../../base/env-file.ts";
import { packageOf } from "../../ipc/plugin-protocol.ts";
import { shown } from "../config-file.ts";
import type { JsonPath } from "../document.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { filledIn } from "./command-checks.ts";
import { sourceOf } from "./plugin-checks.ts";

/** Whoever names a file of another kind as an env file needs no longer list. */
const MOST_FAULTS = 5;

/** `folder`: of the configuration file. */
export function fileWarnings({ processes = [], plugins = [] }: PartialConfig, folder: string): readonly Finding[] {
  const seen = new Set<string>();
  return [
    ...processes.flatMap((process, index) => [
      ...scriptWarnings(process ?? {}, ["processes", index, "worker"], folder),
      ...envFileWarnings(process ?? {}, ["processes", index, "envFile"], (path) => {
        const file = resolve(folder, filledIn(path));
        // What several processes share is spoken about once.
        return seen.size === seen.add(file).size ? undefined : file;
      }),
    ]),
    ...plugins.flatMap((plugin, index) => pluginWarnings(plugin?.url, ["plugins", index, "url"], folder)),
  ];
}

function scriptWarnings({ worker }: PartialProcess, path: JsonPath, folder: string): readonly Finding[] {
  const [script] = [worker].flat();
  if (script === undefined || existsSync(resolve(folder, script))) return [];
  const place = typeof worker === "string" ? path : [...path, 0];
  return [
    { path: place, message: `Found ${show(script)}, but there is no file ${near(resolve(folder, script))}; make it, or correct "worker".` },
  ];
}

/** `fileOf`: undefined, it was looked at already. */
function envFileWarnings({ envFile }: PartialProcess, path: JsonPath, fileOf: (path: string) => string | undefined): readonly Finding[] {
  return [envFile].flat().flatMap((entry, index) => {
    const file = entry === undefined ? undefined : fileOf(entry);
    const place = Array.isArray(envFile) ? [...path, index] : path;
    return file === undefined ? [] : problemsOf(file).map((problem) => ({ path: place, message: `Found ${show(entry)}: ${problem}.` }));
  });
}

function problemsOf(file: string): readonly string[] {
  try {
    const { faults } = readEnvFile(readFileSync(file, "utf8"));
    const told = faults.slice(0, MOST_FAULTS).map(({ line, problem }) => `${near(file)}:${line} ${problem}`);
    return faults.length > MOST_FAULTS ? [...told, `${faults.length - MOST_FAULTS} more lines of ${near(file)} are like that`] : told;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [`there is no file ${near(file)}, without which its process can't start; make it, or correct "envFile"`];
    return [`${near(file)} can't be read: ${code === "EISDIR" ? "it is a folder" : message.replace(/^E[A-Z]+: /, "")}`];
  }
}

function pluginWarnings(url: string | undefined, path: JsonPath, folder: string): readonly Finding[] {
  const source = url === undefined ? undefined : sourceOf(url, folder);
  if (source?.kind === "file" && !existsSync(source.path))
    return [{ path, message: `Found ${show(url)}, but there is no file ${near(source.path)}; make it, or correct "url".` }];
  if (source?.kind !== "package" || isThere(packageOf(source.name), folder)) return [];
  const name = packageOf(source.name);
  const remedy = `\`npm install ${name}\` there, or write "./${source.name}" for a file`;
  return [
    { path, message: `Found ${show(url)}, but there is no package ${show(name)} in ${join(folder, "node_modules")} or above; ${remedy}.` },
  ];
}

/** Where an import in that folder looks. What begins with `#` is for the package.json there to say. */
function isThere(name: string, folder: string): boolean {
  if (name.startsWith("#") || isBuiltin(name)) return true;
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, "node_modules", name)) || nameIn(join(at, "package.json")) === name) return true;
    if (dirname(at) === at) return false;
  }
}

/** A package may import itself. */
function nameIn(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { readonly name?: unknown }).name;
  } catch {
    return undefined;
  }
}

function near(file: string): string {
  return shown(file, process.cwd());
}

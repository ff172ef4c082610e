/** Loads the module of a plugin, or throws a sentence for the user. Runs in the plugin's thread, as does the top level of the module. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { constants, Script } from "node:vm";
import { type PluginStart, packageOf } from "../ipc/plugin-protocol.ts";
import { locationOf } from "./error-location.ts";
import { OptionsError, pluginIn } from "./plugin-definition.ts";
import { digestOf, moduleFrom } from "./remote-plugin.ts";

/** @throws {OptionsError} */
export async function load({ spec, cache, shipped }: PluginStart, log: (text: string) => void): Promise<unknown> {
  const { source, integrity } = spec;
  switch (source.kind) {
    case "shipped":
      return imported(join(shipped, `plugin-${source.name}.js`));
    case "file":
      check(source.path, integrity);
      return imported(source.path);
    case "package":
      return fromPackage(source.name, source.folder);
    case "remote":
      return integrity === undefined
        ? fromWeb(source.url, cache, log)
        : imported(await moduleFrom({ url: source.url, integrity, cache }, log));
    default:
      return source satisfies never;
  }
}

/** Without a digest, a module that is not a plugin may have been a wrong answer: it is not kept. */
async function fromWeb(url: string, cache: string, log: (text: string) => void): Promise<unknown> {
  const path = await moduleFrom({ url, cache }, log);
  try {
    const module = await imported(path);
    pluginIn(module);
    return module;
  } catch (error) {
    rmSync(path, { force: true });
    throw new OptionsError(`${(error as Error).message}; it is fetched again from ${url} at the next start`);
  }
}

function check(path: string, integrity: string | undefined): void {
  if (!existsSync(path)) throw new OptionsError(`there is no file ${path}; create it, or correct "url"`);
  if (integrity === undefined) return;
  const digest = digestOf(readFileSync(path));
  if (digest !== integrity)
    throw new OptionsError(
      `${path} has the digest ${digest}, not ${integrity}; check what has changed, then correct "integrity"`,
    );
}

async function imported(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw refusalOf(error, path);
  }
}

/** Resolved as an import in the configuration file would be, including `exports` of the package. */
async function fromPackage(name: string, folder: string): Promise<unknown> {
  const script = new Script("(name) => import(name)", {
    filename: join(folder, "procman.json"),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const from = script.runInThisContext() as (name: string) => Promise<unknown>;
  try {
    return await from(name);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(`'${packageOf(name)}'`))
      throw new OptionsError(
        `there is no package ${JSON.stringify(packageOf(name))} in ${join(folder, "node_modules")} or above; \`npm install ${packageOf(name)}\` there, or write "./${name}" for a file`,
      );
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown, path?: string): OptionsError {
  if (!(error instanceof Error)) return new OptionsError(`its module threw ${String(error)}; fix it`);
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION")
    return new OptionsError(
      `this Node (${process.versions.node}) runs no TypeScript; use 22.18 or later, or compile it to JavaScript`,
    );
  if (code === "ERR_MODULE_NOT_FOUND") return new OptionsError(`one of its imports can't be found: ${message}`);
  if (error instanceof SyntaxError) return new OptionsError(`${syntaxPlace(error, path)}; fix the module`);
  return new OptionsError(`its module threw while it was loaded: ${message}${locationOf(error)}; fix it`);
}

/** Node prints the location of a syntax error only if it is not caught: hence another Node with --check. */
function syntaxPlace(error: SyntaxError, path: string | undefined): string {
  const check =
    path === undefined
      ? undefined
      : spawnSync(process.execPath, ["--check", path], { encoding: "utf8", timeout: 5_000 });
  const location = /^(?:file:\/\/)?(\S+:\d+)$/m.exec(check?.stderr ?? "")?.[1];
  return `SyntaxError: ${error.message}${location === undefined ? (path === undefined ? "" : ` (${path})`) : ` (${location})`}`;
}

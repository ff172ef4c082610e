/** Loads the module of a plugin, and says in a sentence why it can't. Runs in the plugin's thread: what a module does at its top is done there. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { constants, Script } from "node:vm";
import { type PluginStart, packageOf } from "../ipc/plugin-protocol.ts";
import { locationOf } from "./error-location.ts";
import { OptionsError } from "./plugin-definition.ts";
import { digestOf, moduleFrom } from "./remote-plugin.ts";

/** @throws {OptionsError} */
export async function load({ spec, cache, shipped }: PluginStart, said: (text: string) => void): Promise<unknown> {
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
      return imported(await moduleFrom({ url: source.url, integrity, cache }, said));
    default:
      return source satisfies never;
  }
}

function check(path: string, integrity: string | undefined): void {
  if (!existsSync(path)) throw new OptionsError(`there is no file ${path}; make it, or correct "url"`);
  if (integrity === undefined) return;
  const digest = digestOf(readFileSync(path));
  if (digest !== integrity)
    throw new OptionsError(`${path} has the digest ${digest}, not ${integrity}; check what has changed, then correct "integrity"`);
}

async function imported(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw refusalOf(error, path);
  }
}

/** As an import in the configuration file would find it, with all that `exports` of a package can say. */
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
  if (!(error instanceof Error)) return new OptionsError(`its module has thrown ${String(error)}; mend it`);
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION")
    return new OptionsError(`this Node (${process.versions.node}) runs no TypeScript; use 22.18 or later, or compile it to JavaScript`);
  if (code === "ERR_MODULE_NOT_FOUND") return new OptionsError(`one of its imports is not there: ${message}`);
  if (error instanceof SyntaxError) return new OptionsError(`${syntaxPlace(error, path)}; mend the module`);
  return new OptionsError(`its module has thrown at its start: ${message}${locationOf(error)}; mend it`);
}

/** Node tells the place of a syntax error only where nobody catches it. */
function syntaxPlace(error: SyntaxError, path: string | undefined): string {
  const seen = path === undefined ? undefined : spawnSync(process.execPath, ["--check", path], { encoding: "utf8", timeout: 5_000 });
  const place = /^(?:file:\/\/)?(\S+:\d+)$/m.exec(seen?.stderr ?? "")?.[1];
  return `SyntaxError: ${error.message}${place === undefined ? (path === undefined ? "" : ` (${path})`) : ` (${place})`}`;
}

/** What the bundle of the import does for several commands: only there is a parser of YAML. */
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import type { ForeignConfiguration, ForeignOptions } from "../satellites/dev/foreign-configuration.ts";
import type { ImportCommandOptions } from "./import-main.ts";

/** `procman import`. */
export async function importCommand(paths: readonly string[], options: ImportCommandOptions): Promise<void> {
  const failure = await bundle().runImport(paths, options);
  if (failure !== undefined) throw new ProcmanError(failure.code, failure.message);
}

/** `procman import` of a file that `procman dev` would run. */
export function importForDev(path: string): Promise<void> {
  return importCommand([path], basename(path) === "package.json" ? { from: "package" } : {});
}

/** The configuration of a foreign file, in the state folder beside that. @throws {ProcmanError} those of `foreignConfiguration` */
export async function configurationOf(path: string, options: ForeignOptions): Promise<ForeignConfiguration> {
  const made = await bundle().runForeign(path, options);
  if ("code" in made) throw new ProcmanError(made.code, made.message);
  return made;
}

/** For `procman run --file`, which is another process: prints the path of the configuration. */
export async function printConfiguration(path: string, cwd: string): Promise<void> {
  const { file, left, renamed } = await configurationOf(path, { cwd, isRefused: false });
  for (const remark of renamed) process.stderr.write(`procman: ${remark}\n`);
  if (left.length > 0)
    process.stderr.write(`procman: runs without ${left.join(", ")}; "procman import ${path} --check" says why\n`);
  process.stdout.write(file);
}

function bundle(): typeof import("./import-main.ts") {
  const load = createRequire(join(import.meta.dirname, "cli-main.cjs"));
  return load("./import-main.cjs") as typeof import("./import-main.ts");
}

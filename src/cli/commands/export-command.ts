/** `procman export`: the files of another supervisor or cluster engine for this configuration. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { readEnvFile } from "../../core/base/env-file.ts";
import { errnoOf, ProcmanError } from "../../core/base/errors.ts";
import { printableLine } from "../../core/base/printable.ts";
import { readWhole } from "../../core/os/careful-files.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import type { exportTo } from "../../satellites/export/export.ts";
import {
  type Exported,
  type ExportedFile,
  noteTexts,
  type Project,
  TARGETS,
  type TargetName,
} from "../../satellites/export/workload.ts";
import { CONFIG_HELP } from "../config-option.ts";

type Options = {
  readonly to: TargetName;
  readonly config?: string;
  readonly profile?: string;
  readonly output?: string;
  readonly image?: string;
  readonly force?: boolean;
};

/** The exporters, in a build: a bundle for themselves, with a library for YAML. */
const BUNDLE = "./export.cjs";

export function define(parent: Command): void {
  parent
    .command("export")
    .description(
      "Writes the configuration in the language of another supervisor or cluster engine. What can't be carried over is listed on standard error, and as comments in the files. Values that may be secret are references. One file is printed unless --output names a folder.",
    )
    .addOption(new Option("--to <target>", "what the files are for").choices(TARGETS).makeOptionMandatory())
    .option(
      "-o, --output <folder>",
      "write the files into this folder; of those that exist only earlier exports are replaced",
    )
    .option("--force", "replace other files, too")
    .option(
      "--image <name>",
      "image that the containers run, such as registry.example.com/shop:1; default: a Dockerfile to build one",
    )
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--profile <name>", "merge this part of `profiles` over the rest of the configuration")
    .action(exportConfiguration);
}

async function exportConfiguration({
  to,
  config: path,
  profile,
  output,
  image,
  force = false,
}: Options): Promise<void> {
  const [{ read }, { check }, { writeExported }] = await Promise.all([
    import("../../core/config/config-file.ts"),
    import("../../core/config/load.ts"),
    import("../exported-files.ts"),
  ]);
  const source = read(path, startFolder(path));
  const config = check(source, profile === undefined ? {} : { profile });
  const folder = dirname(source.file);
  const project: Omit<Project, "notes"> = {
    name: config.name,
    folder,
    source: basename(source.file),
    ...(output !== undefined && { output: resolve(startFolder(output), output) }),
    ...(image !== undefined && { image }),
    nodeFolder: dirname(process.execPath),
    hasPackage: existsSync(join(folder, "package.json")),
    hasLock: existsSync(join(folder, "package-lock.json")),
    programPath,
    namesIn,
  };
  const { exportTo: run } = createRequire(__filename)(BUNDLE) as { readonly exportTo: typeof exportTo };
  const { files, notes } = run(to, config, project);
  refuseBlocked(to, notes);
  if (output === undefined) print(to, files);
  else process.stdout.write(`${(await writeExported(output, files, force)).join("\n")}\n`);
  report(to, notes);
}

/** @throws {ProcmanError} `export-refused` */
function refuseBlocked(target: TargetName, notes: Exported["notes"]): void {
  const blocked = notes.filter(({ blocks }) => blocks === true);
  if (blocked.length === 0) return;
  throw new ProcmanError("export-refused", `Cannot export to ${target}:${linesOf(blocked)}`);
}

/** @throws {ProcmanError} `usage`: there are several files */
function print(target: TargetName, files: readonly ExportedFile[]): void {
  const [first, ...others] = files;
  if (others.length > 0) {
    const names =
      files.length > 4
        ? `${files
            .slice(0, 3)
            .map(({ name }) => name)
            .join(", ")} and ${files.length - 3} more`
        : files.map(({ name }) => name).join(", ");
    throw new ProcmanError(
      "usage",
      `Cannot print ${files.length} files (${names}); name a folder: procman export --to ${target} --output FOLDER`,
    );
  }
  process.stdout.write(first?.text ?? "");
}

function report(target: TargetName, notes: Exported["notes"]): void {
  if (notes.length === 0) return;
  process.stderr.write(`Not carried over to ${target}, or left to do:${linesOf(notes)}\n`);
}

function linesOf(notes: Exported["notes"]): string {
  return noteTexts(notes)
    .map((text) => `\n  ${printableLine(text)}`)
    .join("");
}

function programPath(program: string, cwd: string, folders: readonly string[]): string | undefined {
  if (program.includes("/")) return resolve(cwd, program);
  const places = [...folders, ...(process.env.PATH ?? "").split(delimiter)].filter((folder) => folder.startsWith("/"));
  return places.map((place) => join(place, program)).find(isProgram);
}

function namesIn(envFile: string): readonly string[] | undefined {
  try {
    return Object.keys(readEnvFile(readWhole(envFile).toString("utf8")).variables);
  } catch (error) {
    if (errnoOf(error) === "UNKNOWN") throw error;
    return undefined;
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

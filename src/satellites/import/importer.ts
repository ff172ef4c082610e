/** From foreign files to the text of a valid configuration. */
import { basename, dirname, join } from "node:path";
import { isObject } from "../../core/base/schema-check.ts";
import { commentedText } from "./commented-jsonc.ts";
import { importCompose } from "./compose.ts";
import { ConfigurationDraft, idOf } from "./configuration-draft.ts";
import { importCrontab } from "./crontab.ts";
import { exportedBy } from "./ecosystem-child.ts";
import { importPackage } from "./package-scripts.ts";
import { importPm2 } from "./pm2.ts";
import { appsOfDump } from "./pm2-dump.ts";
import { importProcessCompose } from "./process-compose.ts";
import { importProcfile } from "./procfile.ts";
import { makeValid } from "./repair.ts";
import { readDropIns, readForeign, readMatching, withPlace } from "./source-file.ts";
import { isProgram, type KnownSource, recognised, type SourceKind } from "./source-kinds.ts";
import { importSupervisord } from "./supervisord.ts";
import { importUnits } from "./systemd.ts";

export type ImportOptions = {
  /** Absolute path of the file that will be written: relative paths in it resolve from its folder. */
  readonly file: string;
  /** Folder in which names of files in messages begin. */
  readonly cwd: string;
  /** Kind of all files; otherwise name and content say it. */
  readonly kind?: SourceKind | undefined;
  /** Name of the configuration; otherwise the files say it, or the folder. */
  readonly name?: string | undefined;
  /** Where programs run whose file doesn't say it; otherwise in the folder of the file that will be written. */
  readonly runsIn?: string | undefined;
};

export type Imported = { readonly configuration: ConfigurationDraft; readonly text: string };

/**
 * Reads foreign files and makes one valid configuration of them.
 *
 * @throws {ProcmanError} `configuration-missing`, `configuration-invalid`: a file can't be read, has a syntax error, or
 * is of no known kind
 *
 * @example
 * const { text } = await importFiles(["Procfile"], { file: "/srv/shop/procman.jsonc", cwd: "/srv/shop" });
 */
export async function importFiles(paths: readonly string[], options: ImportOptions): Promise<Imported> {
  return importSources(
    paths.map((path) => recognised(readForeign(path, options.cwd), options.kind)),
    options,
  );
}

/** The apps of a running pm2. `list`: what `pm2 jlist` prints. */
export function importRunning(list: readonly unknown[], options: ImportOptions): Promise<Imported> {
  const source = { file: join(options.cwd, "pm2"), shownAs: "--from-running pm2", text: "" };
  return importSources([{ kind: "pm2", source, data: list }], options);
}

async function importSources(
  sources: readonly KnownSource[],
  { file, cwd, name, runsIn }: ImportOptions,
): Promise<Imported> {
  const configuration = new ConfigurationDraft(dirname(file));
  const units = sources.filter((each) => each.kind === "systemd").map(({ source }) => source);
  for (const source of sources) if (source.kind !== "systemd") await importOne(source, configuration, cwd);
  for (const unit of units.slice(0, 1))
    withPlace(unit, () => importUnits(units, configuration, (path) => readDropIns(path, cwd)));
  configuration.fields.name = name ?? configuration.fields.name ?? idOf(basename(dirname(file)) || "procman");
  if (runsIn !== undefined) for (const { fields } of configuration.processes) fields.cwd ??= runsIn;
  makeValid(configuration, file);
  return {
    configuration,
    text: commentedText(
      configuration,
      sources.map(({ source }) => source.shownAs),
    ),
  };
}

async function importOne(
  { kind, source, data }: KnownSource,
  configuration: ConfigurationDraft,
  cwd: string,
): Promise<void> {
  const readText = (path: string): string => readForeign(path, cwd).text;
  if (kind === "pm2")
    return importPm2Source(source, isProgram(source) ? await exportedBy(source) : data, configuration);
  if (kind === "package")
    return withPlace(source, () => importPackage(source, configuration, (path) => readForeign(path, cwd)));
  withPlace(source, () => {
    if (kind === "procfile") importProcfile(source, configuration, readText);
    else if (kind === "supervisord")
      importSupervisord(source, configuration, (pattern, folder) => readMatching(pattern, folder, cwd));
    else if (kind === "crontab") importCrontab(source, configuration);
    else if (kind === "compose") importCompose(isObject(data) ? data : {}, source, configuration, readText);
    else importProcessCompose(isObject(data) ? data : {}, source, configuration, readText);
  });
}

function importPm2Source(source: KnownSource["source"], data: unknown, configuration: ConfigurationDraft): void {
  const apps = appsOfDump(data, process.env);
  importPm2(apps ?? data, { file: source.shownAs, folder: dirname(source.file) }, configuration);
}

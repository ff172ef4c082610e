/** The work of `procman import`, in its own bundle: it has a parser of YAML, which the other commands need not read at their start. */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type ErrorCode, EXIT, ProcmanError } from "../core/base/errors.ts";
import { printableJson } from "../core/base/printable.ts";
import { startFolder } from "../core/os/start-folder.ts";
import type { ForeignConfiguration, ForeignOptions } from "../satellites/dev/foreign-configuration.ts";
import type { ConfigurationDraft } from "../satellites/import/configuration-draft.ts";
import type { Imported } from "../satellites/import/importer.ts";
import type { SourceKind } from "../satellites/import/source-kinds.ts";

export type ImportCommandOptions = {
  readonly from?: SourceKind;
  readonly fromRunning?: "pm2";
  readonly config?: string;
  readonly force?: boolean;
  readonly stdout?: boolean;
  readonly check?: boolean;
  readonly json?: boolean;
};

/** An error as data: the class of one bundle is not that of another. */
export type ImportFailure = { readonly code: ErrorCode; readonly message: string };

export async function runImport(
  paths: readonly string[],
  options: ImportCommandOptions,
): Promise<ImportFailure | undefined> {
  try {
    await importCommand(paths, options);
    return undefined;
  } catch (error) {
    return asData(error);
  }
}

/** For `procman dev`, and `run --file`. */
export async function runForeign(path: string, options: ForeignOptions): Promise<ForeignConfiguration | ImportFailure> {
  try {
    const { foreignConfiguration } = await import("../satellites/dev/foreign-configuration.ts");
    return await foreignConfiguration(path, options);
  } catch (error) {
    return asData(error);
  }
}

function asData(error: unknown): ImportFailure {
  if (!(error instanceof ProcmanError)) throw error;
  return { code: error.code, message: error.message };
}

async function importCommand(paths: readonly string[], options: ImportCommandOptions): Promise<void> {
  const [{ fileToCreate }, { displayPath }, { check }] = await Promise.all([
    import("./commands/init-command.ts"),
    import("../core/config/config-file.ts"),
    import("../core/config/load.ts"),
  ]);
  const isRunning = options.fromRunning !== undefined;
  if (isRunning === paths.length > 0)
    throw new ProcmanError("usage", "Cannot import: name files, or --from-running pm2");
  const file = fileToCreate(options.config, startFolder(options.config));
  const shownAs = displayPath(file, startFolder(file));
  const writes = options.stdout !== true && options.check !== true;
  const isInTheWay = writes && existsSync(file) && (isRunning || options.force !== true);
  if (isInTheWay && isRunning) throw existing(shownAs, isRunning);
  const from = isRunning ? ["the running pm2"] : paths;
  const { list, ...imported } = await importedFrom(paths, file, options);
  // A missing file, or one of another kind, is the nearer fault.
  if (isInTheWay) throw existing(shownAs, isRunning);
  const { text, configuration } = imported;
  if (options.check !== true && configuration.processes.length === 0) throw nothingToRun(from, configuration);
  // Users that are missing here are in the notes, and `run` refuses them.
  const config = check({ file, shownAs, text }, { checksAccounts: false });
  if (options.stdout === true) process.stdout.write(text);
  if (!writes) return reportAlone(imported, { paths: from, shownAs: undefined, ...options });
  if (isRunning) await (await import("./take-over.ts")).takeOver({ configuration, list, file, shownAs });
  else await written(file, text);
  printReport(imported, { paths: from, shownAs, ...options });
  (await import("./edit-file.ts")).printWarnings(config, { file, shownAs, text });
}

function reportAlone(imported: Imported, report: ImportReport): void {
  printReport(imported, report);
  if (report.check === true && imported.configuration.dropped.length > 0) process.exitCode = EXIT.refused;
}

/** `list`: of a running pm2. */
async function importedFrom(
  paths: readonly string[],
  file: string,
  { from: kind, fromRunning }: ImportCommandOptions,
): Promise<Imported & { readonly list: readonly unknown[] }> {
  const { importFiles, importRunning } = await import("../satellites/import/importer.ts");
  const cwd = startFolder(paths.find((path) => !isAbsolute(path)) ?? file);
  if (fromRunning === undefined) return { ...(await importFiles(paths, { file, cwd, kind })), list: [] };
  const list = await (await import("./running-pm2.ts")).listOfPm2();
  return { ...(await importRunning(list, { file, cwd })), list };
}

function nothingToRun(from: readonly string[], configuration: ConfigurationDraft): ProcmanError {
  const lines = [`Cannot import ${from.join(", ")}: nothing of it can be run`, ...rowsOf(configuration)];
  return new ProcmanError("configuration-invalid", lines.join("\n"));
}

function existing(shownAs: string, isRunning: boolean): ProcmanError {
  const remedy = isRunning
    ? "-c names another file"
    : "--force overwrites it, --stdout prints the configuration, -c names another file";
  return new ProcmanError("file-exists", `Cannot create ${shownAs}: it already exists; ${remedy}`);
}

async function written(file: string, text: string): Promise<void> {
  const { createFile, replaceFile } = await import("./edit-file.ts");
  await (existsSync(file) ? replaceFile : createFile)(file, text);
}

type ImportReport = ImportCommandOptions & {
  readonly paths: readonly string[] /** The file that was written. */;
  readonly shownAs: string | undefined;
};

/** With --stdout it goes to standard error. */
function printReport(
  { configuration }: Imported,
  { paths, shownAs, json = false, stdout = false, fromRunning }: ImportReport,
): void {
  const target = stdout ? process.stderr : process.stdout;
  if (json) return void target.write(`${printableJson({ file: shownAs, ...reportOf(configuration) }, 2)}\n`);
  const { processes, left } = reportOf(configuration);
  const subject = `${processes.length === 1 ? "1 process" : `${processes.length} processes`} of ${paths.join(", ")}`;
  const next =
    fromRunning === undefined
      ? "`procman run` starts it"
      : "all of it runs here. `pm2 delete all && pm2 save` removes the stopped apps from pm2";
  const remedy = shownAs === undefined ? "" : `; ${next}`;
  const rows = rowsOf(configuration);
  const lines = [
    shownAs === undefined ? subject : `${shownAs}: created with ${subject}${remedy}`,
    ...(left.length === 0 ? [] : [`left out, because nothing of it can be run: ${left.join(", ")}`]),
    ...(rows.length === 0
      ? []
      : ["not converted, or converted differently (comments in the file say the same):", ...rows]),
  ];
  target.write(`${lines.join("\n")}\n`);
}

function rowsOf(configuration: ConfigurationDraft): readonly string[] {
  return reportOf(configuration).notes.map(
    ({ process: id, field, advice }) => `  ${id === undefined ? "" : `${id}: `}${field}: ${advice}`,
  );
}

type ReportedNote = { readonly process?: string; readonly field: string; readonly advice: string };

function reportOf({ processes, dropped, notes }: ConfigurationDraft): {
  readonly processes: readonly string[];
  readonly left: readonly string[];
  readonly notes: readonly ReportedNote[];
} {
  return {
    processes: processes.map(({ id }) => id),
    left: dropped.map(({ name }) => name),
    notes: [
      ...notes,
      ...processes.flatMap(({ id, notes: own }) => own.map((note) => ({ process: id, ...note }))),
      ...dropped.flatMap(({ name, notes: own }) => own.map((note) => ({ process: name, ...note }))),
    ],
  };
}

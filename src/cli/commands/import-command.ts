/** `procman import`: makes a configuration file of those of other process managers. */
import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { EXIT, ProcmanError } from "../../base/errors.ts";
import type { ConfigurationDraft } from "../../import/configuration-draft.ts";
import type { Imported } from "../../import/importer.ts";
import type { SourceKind } from "../../import/source-kinds.ts";

/** In the order of `SOURCE_KINDS`, which isn't loaded for the help. */
const KINDS = [
  "pm2",
  "supervisord",
  "procfile",
  "process-compose",
  "compose",
  "systemd",
  "crontab",
] as const satisfies readonly SourceKind[];

export function define(parent: Command): void {
  parent
    .command("import")
    .summary("make a configuration file of one of another process manager")
    .description(
      "Makes a configuration file of files of pm2, supervisord, process-compose, compose or systemd, of a Procfile or a crontab. What has no equal in procman is a comment that says what to do. An ecosystem file of pm2 is a program, and is run for that, for at most 10 s.",
    )
    .argument("<file...>", 'files of the other process manager; "-": standard input, for the output of pm2 jlist')
    .addOption(new Option("--from <kind>", "what the files are (default: by name and content)").choices(KINDS))
    .option("-c, --config <path>", "file to create (default: procman.jsonc in this folder)")
    .option("--force", "overwrite an existing file")
    .option("--stdout", "print the configuration instead of writing it")
    .option("--check", "only report what would become of the files; exit code 1 if something can't be run")
    .option("--json", "print the report as JSON")
    .action(importCommand);
}

type Options = {
  readonly from?: SourceKind;
  readonly config?: string;
  readonly force?: boolean;
  readonly stdout?: boolean;
  readonly check?: boolean;
  readonly json?: boolean;
};

async function importCommand(paths: readonly string[], options: Options): Promise<void> {
  const [{ importFiles }, { fileToCreate }, { displayPath }, { check }, { createFile, replaceFile, printWarnings }] = await Promise.all([
    import("../../import/importer.ts"),
    import("./init-command.ts"),
    import("../../config/config-file.ts"),
    import("../../config/load.ts"),
    import("../edit-file.ts"),
  ]);
  const cwd = process.cwd();
  const file = fileToCreate(options.config, cwd);
  const shownAs = displayPath(file, cwd);
  const exists = existsSync(file);
  const writes = options.stdout !== true && options.check !== true;
  if (writes && exists && options.force !== true)
    throw new ProcmanError(
      "file-exists",
      `Cannot create ${shownAs}: it exists already; --force overwrites it, --stdout prints the configuration, -c names another file`,
    );
  const imported = await importFiles(paths, { file, cwd, kind: options.from });
  const { text, configuration } = imported;
  if (options.check !== true && configuration.processes.length === 0)
    throw new ProcmanError(
      "configuration-invalid",
      [`Cannot import ${paths.join(", ")}: nothing of it can be run`, ...rowsOf(configuration)].join("\n"),
    );
  const config = check({ file, shownAs, text });
  if (writes) await (exists ? replaceFile : createFile)(file, text);
  if (options.stdout === true) process.stdout.write(text);
  printReport(imported, { paths, shownAs: writes ? shownAs : undefined, ...options });
  if (writes) printWarnings(config, { file, shownAs, text });
  if (options.check === true && configuration.dropped.length > 0) process.exitCode = EXIT.refused;
}

type ImportReport = Options & { readonly paths: readonly string[] /** The file that was written. */; readonly shownAs: string | undefined };

/** With --stdout it goes to standard error. */
function printReport({ configuration }: Imported, { paths, shownAs, json = false, stdout = false }: ImportReport): void {
  const target = stdout ? process.stderr : process.stdout;
  if (json) return void target.write(`${JSON.stringify({ file: shownAs, ...reportOf(configuration) }, null, 2)}\n`);
  const { processes, left } = reportOf(configuration);
  const subject = `${processes.length === 1 ? "1 process" : `${processes.length} processes`} of ${paths.join(", ")}`;
  const remedy = shownAs === undefined ? "" : "; `procman run` starts it";
  const rows = rowsOf(configuration);
  const lines = [
    shownAs === undefined ? subject : `${shownAs}: created with ${subject}${remedy}`,
    ...(left.length === 0 ? [] : [`left out, because nothing of it can be run: ${left.join(", ")}`]),
    ...(rows.length === 0 ? [] : ["what has no equal, or differs (comments in the file say the same):", ...rows]),
  ];
  target.write(`${lines.join("\n")}\n`);
}

function rowsOf(configuration: ConfigurationDraft): readonly string[] {
  return reportOf(configuration).notes.map(({ process: id, field, advice }) => `  ${id === undefined ? "" : `${id}: `}${field}: ${advice}`);
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

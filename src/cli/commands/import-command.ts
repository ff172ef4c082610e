/** `procman import`: makes a configuration file of those of other process managers. */
import { type Command, Option } from "commander";
import type { SourceKind } from "../../satellites/import/source-kinds.ts";
import { importCommand } from "../import-bundle.ts";

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
    .description(
      "Makes a configuration file from those of pm2, supervisord, process-compose, compose or systemd, a Procfile or a crontab. What can't be converted becomes a comment that says what to do. An ecosystem file of pm2 is a program, which is run for this, for at most 10 s.",
    )
    .argument("[file...]", 'files of the other process manager; "-": standard input, for the output of pm2 jlist')
    .addOption(new Option("--from <kind>", "what the files are (default: by name and content)").choices(KINDS))
    .addOption(
      new Option(
        "--from-running <manager>",
        "take over the apps of a running pm2 one by one: each is stopped there and started here; all go back if one fails",
      ).choices(["pm2"]),
    )
    .option("-c, --config <path>", "file to create (default: procman.jsonc in this folder)")
    .option("--force", "overwrite an existing file")
    .option("--stdout", "print the configuration instead of writing it")
    .option("--check", "only report how the files would be converted; exit code 1 if something can't be run")
    .option("--json", "print the report as JSON")
    .action(importCommand);
}

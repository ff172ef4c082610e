/** `procman run`: the bin runs it in the keeper; this module has its help and `--detach`. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { CONFIG_HELP } from "../config-option.ts";
import type { DetachOptions } from "../detach.ts";
import { IDS_HELP, secondsTo } from "../options.ts";

/** Seconds. */
const DEFAULT_WAIT_SECONDS = 60;
const LONGEST_SECONDS = 3_600;

export function define(parent: Command): void {
  parent
    .command("run")
    .description(
      "Starts and supervises the processes of the configuration; with ids only these, and what they depend on: the others are started by hand. SIGTERM or SIGINT (Ctrl-C) stops everything gracefully; a second one kills.\nSIGHUP applies the changed configuration file, SIGUSR2 reopens the log files. Exit codes: 0 stopped gracefully, 1 refused (for example, already running), 78 invalid configuration.",
    )
    .argument("[id...]", `${IDS_HELP} to start (default: all that start with procman)`)
    .option("-c, --config <path>", CONFIG_HELP)
    .option(
      "-f, --file <path>",
      "a file that `procman import` reads, such as a Procfile, as it is now; nothing is written beside it",
    )
    .option("--profile <name>", "merge this part of `profiles` over the rest of the configuration")
    .option(
      "--console",
      "print the output of all processes here, regardless of the configuration; on a terminal, closing it ends procman",
    )
    .option("--keep", "with --console: go on in the background when the terminal is closed")
    .option("--watch-config", "reload the configuration file whenever it changes (for development)")
    .option(
      "--once",
      "run everything once (for CI): nothing restarts; end when all have ended, with the first exit code that is not 0",
    )
    .option(
      "--exit-with <id>",
      "end when this process has ended, with its exit code (for containers); without a restartLimit it isn't restarted",
    )
    .option(
      "--guarded",
      "no failover when killed: a supervisor such as runit or s6 restarts procman; systemd is detected",
    )
    .option("-d, --detach", "run in the background: return with the states of all processes when they have started")
    .option("--wait", "with --detach: return when all are ready")
    .option(
      "--timeout <seconds>",
      `with --wait: wait no longer than this (default: ${DEFAULT_WAIT_SECONDS})`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "with --detach: print what was started, and the records of the API")
    .action(runInBackground);
}

async function runInBackground(
  ids: readonly string[],
  { detach, file, ...options }: Omit<DetachOptions, "ids"> & { readonly detach?: boolean; readonly file?: string },
): Promise<void> {
  if (file !== undefined && options.config !== undefined)
    throw new ProcmanError("usage", "Cannot run both: --config and --file each name a file; leave one of them out");
  if (detach !== true && options.json === true)
    throw new ProcmanError(
      "usage",
      'Cannot print JSON: "run --json" needs --detach; for JSON on the console, set "format": "json" in "logger"',
    );
  // For example `run -c -d`, where -d is parsed as the path.
  if (detach !== true) throw new ProcmanError("usage", 'Cannot run: --config needs a path; see "procman help run"');
  const [{ runDetached }, { configurationOf }] = await Promise.all([
    import("../detach.ts"),
    import("../import-bundle.ts"),
  ]);
  const made =
    file === undefined ? undefined : await configurationOf(file, { cwd: startFolder(file), isRefused: false });
  await runDetached({ ids, ...options, ...(made && { config: made.file }) });
}

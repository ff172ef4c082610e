/** `procman run`: here only its help; the bin hands the command itself to the keeper. */
import type { Command } from "commander";

export function define(parent: Command): void {
  parent
    .command("run")
    .summary("start and supervise the processes of the configuration")
    .description(
      "Starts what the configuration names and supervises it. SIGTERM or SIGINT (Ctrl-C) stops everything in order, a second one kills.\nSIGUSR2 opens the log files anew. Exit codes: 0 stopped in order, 1 refused (as when it runs already), 78 the configuration is not valid.",
    )
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--console", "print the output of all processes here, whatever the configuration says")
    .option("--exit-with <id>", "end with this process, and with its exit code (for containers)");
}

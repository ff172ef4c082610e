/** `procman run`: in the foreground the bin hands it to the keeper at once, so here is its help and `--detach`. */
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import type { DetachOptions } from "../detach.ts";

export function define(parent: Command): void {
  parent
    .command("run")
    .summary("start and supervise the processes of the configuration")
    .description(
      "Starts what the configuration names and supervises it. SIGTERM or SIGINT (Ctrl-C) stops everything in order, a second one kills.\nSIGHUP takes up the changed configuration file, SIGUSR2 opens the log files anew. Exit codes: 0 stopped in order, 1 refused (as when it runs already), 78 the configuration is not valid.",
    )
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--profile <name>", "merge this part of the configuration, one of those below `profiles`, over the rest")
    .option("--console", "print the output of all processes here, whatever the configuration says")
    .option("--watch-config", "take up the configuration file whenever it changes, as by `procman reload` (for development)")
    .option("--exit-with <id>", "end with this process, and with its exit code (for containers)")
    .option(
      "--guarded",
      "don't come back when killed: whoever started this procman (a guard as runit, s6) starts it again; systemd is recognised",
    )
    .option("-d, --detach", "run in the background: return when the API answers, with the states of all processes")
    .action(async ({ detach, ...options }: DetachOptions & { readonly detach?: boolean }) => {
      // As in `run -c -d`, where -d is taken for the path.
      if (detach !== true) throw new ProcmanError("usage", 'Cannot run: --config needs a path; see "procman help run"');
      const { runDetached } = await import("../detach.ts");
      await runDetached(options);
    });
}

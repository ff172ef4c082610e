/** `procman plan`: what a changed configuration file would do, process by process. */
import type { Command } from "commander";
import type { PlanOptions } from "../../contract/control.ts";
import { connect } from "../../remote/connect.ts";
import { withConfig } from "../options.ts";
import { planTable } from "../plan-table.ts";

/** It stays as long as procman runs. */
const TAKEN_UP = '"procman reload" goes by the profile that procman was run with; another one counts from the next "procman run" on.';

type Options = PlanOptions & { readonly config?: string; readonly json?: boolean };

export function define(parent: Command): void {
  withConfig(
    parent
      .command("plan")
      .summary("show what a changed configuration file would do")
      .description(
        "Shows what `procman reload` would do to each process, and why: start, stop, restart, in-place (it takes the change over as it runs), none. Changes nothing. Exit code 78 when the file is not valid.",
      ),
  )
    .option("--profile <name>", "what a run with this profile would do (default: the profile that procman was run with, if any)")
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(async ({ config, json, ...options }: Options) => {
      const plan = await (await connect(config)).plan(options);
      for (const warning of plan.warnings) process.stderr.write(`procman: ${warning}\n`);
      process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
      if (json !== true && options.profile !== undefined) process.stdout.write(`${TAKEN_UP}\n`);
    });
}

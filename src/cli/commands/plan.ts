/** `procman plan`: what a changed configuration file would do, process by process. */
import type { Command } from "commander";
import { connect } from "../../remote/connect.ts";
import { withConfig } from "../options.ts";
import { planTable } from "../plan-table.ts";

export function define(parent: Command): void {
  withConfig(
    parent
      .command("plan")
      .summary("show what a changed configuration file would do")
      .description(
        "Shows what `procman reload` would do to each process, and why: start, stop, restart, in-place (it takes the change over as it runs), none. Changes nothing. Exit code 78 when the file is not valid.",
      ),
  )
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(async ({ config, json }: { readonly config?: string; readonly json?: boolean }) => {
      const plan = await (await connect(config)).plan();
      for (const warning of plan.warnings) process.stderr.write(`procman: ${warning}\n`);
      process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
    });
}

/** `procman plan`: shows what a changed configuration file would do to each process. */

import type { Command } from "commander";
import { printable } from "../../base/printable.ts";
import { connect } from "../../connection/connect.ts";
import type { PlanOptions } from "../../contract/control.ts";
import { withConfig } from "../options.ts";
import { planTable } from "../plan-table.ts";

/** Printed with --profile: the profile stays the same as long as procman runs. */
const PROFILE_NOTE = '"procman reload" uses the profile that procman was run with; another one takes effect with the next "procman run".';

type Options = PlanOptions & { readonly config?: string; readonly json?: boolean };

export function define(parent: Command): void {
  withConfig(
    parent
      .command("plan")
      .summary("show what a changed configuration file would do")
      .description(
        "Shows what `procman reload` would do to each process, and why: start, stop, restart, in-place (the change applies to the running process), none. Changes nothing. Exit code 78 if the file is invalid.",
      ),
  )
    .option("--profile <name>", "show the effect of this profile (default: the profile that procman was run with, if any)")
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(async ({ config, json, ...options }: Options) => {
      const plan = await (await connect(config)).plan(options);
      for (const warning of plan.warnings) process.stderr.write(`procman: ${printable(warning)}\n`);
      process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
      if (json !== true && options.profile !== undefined) process.stdout.write(`${PROFILE_NOTE}\n`);
    });
}

/** `procman plan`: shows what a changed configuration file would do to each process. */

import type { Command } from "commander";
import { EXIT } from "../../base/errors.ts";
import { printable } from "../../base/printable.ts";
import { connect } from "../../connection/connect.ts";
import type { PlanOptions } from "../../contract/control.ts";
import { withConfig } from "../options.ts";
import { hasChanges, planTable } from "../plan-table.ts";

/** Printed with --profile: the profile stays the same as long as procman runs. */
const PROFILE_NOTE = '"procman reload" uses the profile that procman was run with; another one takes effect with the next "procman run".';

type Options = PlanOptions & { readonly config?: string; readonly json?: boolean; readonly exitCode?: boolean };

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
    .option("--exit-code", "end with 2 if the file changes anything, with 0 if not")
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(async ({ config, json, exitCode = false, ...options }: Options) => {
      const plan = await (await connect(config)).plan(options);
      for (const warning of plan.warnings) process.stderr.write(`procman: ${printable(warning)}\n`);
      process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
      if (json !== true && options.profile !== undefined) process.stdout.write(`${PROFILE_NOTE}\n`);
      if (exitCode && hasChanges(plan)) process.exitCode = EXIT.changed;
    });
}

/** `procman plan`: shows what a changed configuration file would do to each process. */
import type { Command } from "commander";
import { EXIT } from "../../core/base/errors.ts";
import { connect } from "../connected.ts";
import { profileOption, withTarget } from "../options.ts";
import { hasChanges, printPlan } from "../plan-table.ts";
import { placeOfFile, type TargetOptions } from "../target.ts";

type Options = TargetOptions & {
  readonly json?: boolean;
  readonly exitCode?: boolean;
  /** `false`: none. */
  readonly profile?: string | false;
};

export function define(parent: Command): void {
  withTarget(
    parent
      .command("plan")
      .description(
        "Shows what `procman reload` would do to each process, and why: start, stop, restart, in-place (the change applies to the running process), none. Changes nothing. Exit code 78 if the file is invalid.",
      ),
  )
    .option("--profile <name>", "show the effect of this profile (default: the active one, if any)")
    .option("--no-profile", "show the effect of the file without a profile")
    .option("--exit-code", "exit with 2 if the file changes anything, else with 0")
    .option("--json", "print the API record: all processes, settings, warnings")
    .action(async ({ json, exitCode = false, profile, ...target }: Options) => {
      const plan = await (await connect(target, placeOfFile(target))).plan(profileOption(profile));
      printPlan(plan, json);
      const option = profile === false ? "--no-profile" : `--profile ${profile}`;
      if (json !== true && profile !== undefined)
        process.stdout.write(`"procman reload ${option}" applies this; "procman reload" keeps the active profile.\n`);
      if (exitCode && hasChanges(plan)) process.exitCode = EXIT.changed;
    });
}

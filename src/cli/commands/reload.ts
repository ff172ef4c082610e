/** `procman reload`: takes up a changed configuration file, and says what that did. */
import type { Command } from "commander";
import { EXIT } from "../../base/errors.ts";
import type { PlanRecord } from "../../contract/plan.ts";
import { connect } from "../../remote/connect.ts";
import { secondsTo, withConfig } from "../options.ts";
import { planTable } from "../plan-table.ts";
import { withProgress } from "../progress.ts";

/** A roll takes its time for each instance. Seconds. */
const PATIENCE_SECONDS = 300;
/** As the API has it. */
const LONGEST_SECONDS = 3_600;

type Options = { readonly config?: string; readonly wait: boolean; readonly timeout?: number; readonly json?: boolean };

export function define(parent: Command): void {
  withConfig(
    parent
      .command("reload")
      .summary("take up a changed configuration file")
      .description(
        "Takes up the changed configuration file and waits until that is done: what is new starts, what is gone is stopped, what runs otherwise now is restarted (the instances of a cluster one after another), everything else runs on untouched. The profile is that of `procman run`. When the file is not valid (exit code 78), or an instance of a cluster does not come up (1), everything stays as it was.",
      ),
  )
    .option("--no-wait", "return at once, instead of when it is done")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${PATIENCE_SECONDS}); it goes on all the same`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(reload);
}

async function reload({ config, wait, timeout = PATIENCE_SECONDS, json }: Options): Promise<void> {
  const client = await connect(config);
  const plan = await withProgress(() => "reloading", client.reload(wait ? { waitSeconds: timeout } : {}));
  for (const warning of plan.warnings) process.stderr.write(`procman: ${warning}\n`);
  process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
  tellProblems(plan);
}

function tellProblems({ processes }: PlanRecord): void {
  for (const { process: id, problem } of processes) {
    if (problem === undefined) continue;
    process.stderr.write(`procman: "${id}" is not up: it ${problem}\n`);
    process.exitCode = EXIT.refused;
  }
}

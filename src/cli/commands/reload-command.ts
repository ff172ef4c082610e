/** `procman reload`: applies a changed configuration file, and shows its effect. */

import type { Command } from "commander";
import { EXIT } from "../../base/errors.ts";
import { printable, printableLine } from "../../base/printable.ts";
import type { Client } from "../../client/client.ts";
import { connect } from "../../connection/connect.ts";
import type { PlanRecord } from "../../contract/plan.ts";
import { secondsTo, withConfig } from "../options.ts";
import { planTable } from "../plan-table.ts";
import { withProgress } from "../progress.ts";
import { lastLinesOf } from "../settled-start.ts";

/** A rollout takes its time for each instance. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 300;
/** The limit of the API. */
const LONGEST_SECONDS = 3_600;

type Options = { readonly config?: string | undefined; readonly wait: boolean; readonly timeout?: number; readonly json?: boolean };

export function define(parent: Command): void {
  withConfig(
    parent
      .command("reload")
      .summary("apply a changed configuration file")
      .description(
        "Applies the changed configuration file and waits until this is done: new processes start, removed ones stop, changed ones restart (instances of a cluster one after another), and all others keep running untouched. The profile is that of `procman run`. If the file is invalid (exit code 78), or an instance of a cluster fails to start (1), everything stays as it was.",
      ),
  )
    .option("--no-wait", "return immediately instead of waiting")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); the reload continues`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the record of the API: all processes, settings, warnings")
    .action(reload);
}

/** @throws {ProcmanError} those of a reload */
export async function reload({ config, wait, timeout = DEFAULT_TIMEOUT_SECONDS, json }: Options): Promise<void> {
  const client = await connect(config);
  const since = Date.now();
  const plan = await withProgress(() => "reloading", client.reload(wait ? { waitSeconds: timeout } : {}));
  for (const warning of plan.warnings) process.stderr.write(`procman: ${printable(warning)}\n`);
  process.stdout.write(json === true ? `${JSON.stringify(plan, undefined, 2)}\n` : `${planTable(plan, process.stdout.columns)}\n`);
  await reportProblems(client, plan, since);
}

async function reportProblems(client: Client, { processes }: PlanRecord, since: number): Promise<void> {
  for (const { process: id, problem } of processes) {
    if (problem === undefined) continue;
    process.exitCode = EXIT.refused;
    const lines = await lastLinesOf(client, id, since);
    process.stderr.write([`procman: "${id}" is not up: it ${printableLine(problem)}`, ...lines, ""].join("\n"));
  }
}

/** `procman up`: starts procman or applies the changed configuration file to the running one, and waits until all processes are ready. */
import type { Command } from "commander";
import { EXIT } from "../../core/base/errors.ts";
import { read } from "../../core/config/config-file.ts";
import { check } from "../../core/config/load.ts";
import type { PlanRecord } from "../../core/contract/plan.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { asTyped } from "../config-option.ts";
import { runDetached } from "../detach.ts";
import { secondsTo, withConfig } from "../options.ts";
import { waitFor } from "../output/progress.ts";
import { statusTable } from "../output/status-table.ts";
import { hasChanges } from "../plan-table.ts";
import { printLate, printStartDocument, printStartProblem, type SettledStart, settledStart } from "../settled-start.ts";
import { targetLocation } from "../target.ts";
import { isRunning } from "../unapplied.ts";
import { reload } from "./reload-command.ts";

/** As that of a reload. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 300;
const LONGEST_SECONDS = 3_600;

type Options = {
  readonly config?: string;
  readonly profile?: string;
  readonly timeout?: number;
  readonly exitCode?: boolean;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  withConfig(
    parent
      .command("up")
      .description(
        "Starts procman in the background or, if it is running, applies the changed configuration file. Returns when all processes that start with procman are ready (exit code 0), or when one has failed (1). Running it again changes nothing: for scripts, CI and Ansible.",
      ),
  )
    .option("--profile <name>", "merge this part of `profiles` over the rest of the configuration")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); the start continues`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--exit-code", "exit with 2 if something was started or changed, else with 0")
    .option("--json", "print what was done, and the API records")
    .action(up);
}

async function up(options: Options): Promise<void> {
  const hasChanged = isRunning(options.config) ? await applied(options) : await started(options);
  if (options.exitCode === true && hasChanged) process.exitCode ??= EXIT.changed;
}

async function started({ timeout = DEFAULT_TIMEOUT_SECONDS, exitCode: _, ...options }: Options): Promise<boolean> {
  return (await runDetached({ ...options, wait: true, timeout })) !== undefined;
}

async function applied({
  config,
  profile,
  timeout = DEFAULT_TIMEOUT_SECONDS,
  json = false,
}: Options): Promise<boolean> {
  const since = Date.now();
  const plan = await reload({
    config,
    wait: true,
    timeout,
    showsPlan: !json,
    ...(profile !== undefined && { profile }),
  });
  const settled = await waitFor(
    {
      doing: () => "waiting until all are ready",
      continues: () => `procman continues, "${asTyped("status", { config })}" shows the processes`,
    },
    settledAfter(plan, { config, since, timeout }),
  );
  const changed = hasChanges(plan);
  if (json) printStartDocument({ started: false, changed, warnings: plan.warnings }, settled);
  else process.stdout.write(`${statusTable(settled.records, process.stdout)}\n`);
  if (settled.failed.length + settled.late.length > 0) process.exitCode = EXIT.refused;
  printLate(settled.late, timeout);
  return changed;
}

type ReloadedAt = { readonly config: string | undefined; readonly since: number; readonly timeout: number };

/** The reload has waited for, and reported on, what it has changed. */
function settledAfter(plan: PlanRecord, { config, since, timeout }: ReloadedAt): Promise<SettledStart> {
  const told = new Set(plan.processes.flatMap(({ process: id, problem }) => (problem === undefined ? [] : [id])));
  const { profile } = plan;
  const found = check(read(config, startFolder(config)), { ...(profile !== undefined && { profile }) });
  return settledStart(
    { ...found, stateDir: targetLocation({ config }).stateDir },
    {
      since,
      countsEarlierFailures: true,
      untilReady: true,
      timeoutMs: timeout * 1_000,
      onFailed: (record, client) =>
        told.has(record.id) ? Promise.resolve() : printStartProblem(client, record, since),
    },
  );
}

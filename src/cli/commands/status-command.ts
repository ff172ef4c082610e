/** `procman status`: shows processes with their states, as a table or as JSON. */

import type { Command } from "commander";
import { EXIT } from "../../base/errors.ts";
import { printableLine } from "../../base/printable.ts";
import { isCollective } from "../../contract/groups.ts";
import type { PluginRecord } from "../../contract/plugin-record.ts";
import { allRun } from "../../contract/process-health.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, selected, withTarget } from "../options.ts";
import { statusTable } from "../status-table.ts";

type Options = { readonly config?: string; readonly name?: string; readonly json?: boolean; readonly check?: boolean };

const NO_STATE: Partial<StateRecord> = {};

export function define(parent: Command): void {
  const command = parent
    .command("status")
    .summary("show processes with their states")
    .description(
      "Shows processes with their states. CPU and memory are those of the process with all its descendants; 100 % is one core.\nExit code 3 if one that is named isn't running; without an id, if one that was asked for isn't running, and hasn't finished or been stopped.",
    )
    .argument("[id...]", `${IDS_HELP} (default: all)`);
  withTarget(command)
    .option("--check", "exit code 3 also if one of them is not ready, or not healthy")
    .option("--json", "print the records of the API")
    .action(async (ids: readonly string[], { json, check = false, ...target }: Options) => {
      const control = await connect(target);
      const [all, { plugins = [], profile }] = await Promise.all([
        control.processes(),
        json || ids.length > 0 ? NO_STATE : control.state(),
      ]);
      const records = selected(all, ids, target);
      process.stdout.write(json ? `${JSON.stringify(records, undefined, 2)}\n` : `${statusTable(records, process.stdout)}\n`);
      if (profile !== undefined) process.stdout.write(`With the profile "${profile}".\n`);
      if (!doAllRun(all, ids, check)) process.exitCode = EXIT.notRunning;
      for (const line of pluginLines(plugins)) process.stdout.write(`${printableLine(line)}\n`);
    });
}

/** Of `all` and of groups, those that were asked for. */
function doAllRun(records: readonly ProcessRecord[], ids: readonly string[], checks: boolean): boolean {
  const collective = ids.filter(isCollective);
  const named = ids.filter((id) => !isCollective(id));
  const areNamedUp = named.length === 0 || allRun(selected(records, named), { named: true, checks });
  return areNamedUp && ((ids.length > 0 && collective.length === 0) || allRun(selected(records, collective), { named: false, checks }));
}

/** Only plugins with problems are listed. */
function pluginLines(plugins: readonly PluginRecord[]): readonly string[] {
  return plugins.flatMap(({ id, status, problem, lostEvents }) => [
    ...(problem === undefined ? [] : [`plugin ${id} ${status === "backoff" ? "is not running" : "has failed"}: ${problem}`]),
    ...(lostEvents === 0 ? [] : [`plugin ${id} has missed ${lostEvents} events: it was too slow, or restarting`]),
  ]);
}

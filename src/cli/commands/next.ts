/** `procman next`: what schedules start and stop next, soonest first. */
import type { Command } from "commander";
import type { ProcessRecord } from "../../contract/records.ts";
import { connect } from "../../remote/connect.ts";
import { withConfig } from "../options.ts";
import { selected } from "../selection.ts";
import { table } from "../table.ts";
import { age, local } from "../units.ts";

type Options = { readonly config?: string; readonly json?: boolean };

type Planned = { readonly process: string; readonly action: "start" | "terminate" | "restart"; readonly time: string };

export function define(parent: Command): void {
  const command = parent
    .command("next")
    .summary("show what is started and stopped when")
    .description("Shows what schedules start (cron) and stop (terminate) next, and what comes back after a failure, soonest first.")
    .argument("[id...]", "ids of processes, instances (web-2) or clusters (default: all)");
  withConfig(command)
    .option("--json", "print process, action and time (ISO 8601) of each")
    .action(async (ids: readonly string[], { config, json }: Options) => {
      const planned = plannedOf(selected(await (await connect(config)).processes(), ids));
      if (json) return void process.stdout.write(`${JSON.stringify(planned, undefined, 2)}\n`);
      if (planned.length === 0) return void process.stderr.write("procman: nothing is planned\n");
      process.stdout.write(`${nextTable(planned, process.stdout.columns)}\n`);
    });
}

export function plannedOf(records: readonly ProcessRecord[]): readonly Planned[] {
  return records
    .flatMap((record) => record.instances ?? [record])
    .flatMap(({ id, nextRun, nextTerminate, nextRestart }) => [
      ...(nextRun === undefined ? [] : [{ process: id, action: "start", time: nextRun } as const]),
      ...(nextTerminate === undefined ? [] : [{ process: id, action: "terminate", time: nextTerminate } as const]),
      ...(nextRestart === undefined ? [] : [{ process: id, action: "restart", time: nextRestart } as const]),
    ])
    .sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function nextTable(planned: readonly Planned[], width = Number.POSITIVE_INFINITY, now = Date.now()): string {
  const rows = planned.map(({ process: id, action, time }) => [
    local(new Date(time)),
    `in ${age(Math.max(0, Date.parse(time) - now))}`,
    action,
    id,
  ]);
  return table(["TIME", "", "ACTION", "ID"], rows, { width, spare: [1] });
}

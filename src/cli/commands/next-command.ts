/** `procman next`: shows the next scheduled starts and stops, soonest first. */
import type { Command } from "commander";
import { printableJson } from "../../core/base/printable.ts";
import { age } from "../../core/base/quantity.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { boundsText } from "../../core/contract/scale-record.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, selected, withTarget } from "../options.ts";
import { inZones } from "../output/format.ts";
import { table } from "../output/table.ts";
import type { TargetOptions } from "../target.ts";

type Options = TargetOptions & { readonly json?: boolean };

type PlannedRun = {
  readonly process: string;
  readonly action: "start" | "terminate" | "restart" | "scale";
  readonly time: string;
  readonly timeZone?: string;
  /** Bounds of a cluster that a schedule sets. */
  readonly min?: number;
  readonly max?: number;
  readonly pinned?: true;
};

export function define(parent: Command): void {
  const command = parent
    .command("next")
    .description(
      "Shows the next scheduled starts (cron), stops (terminate) and sizes of clusters (scale), and restarts after failures, soonest first.",
    )
    .argument("[id...]", `${IDS_HELP} (default: all)`);
  withTarget(command)
    .option("--json", "print process, action, time (ISO 8601) and timeZone of each, min and max of a size")
    .action(async (ids: readonly string[], { json, ...target }: Options) => {
      const planned = plannedOf(selected(await (await connect(target)).processes(), ids, target));
      if (json) return void process.stdout.write(`${printableJson(planned, 2)}\n`);
      if (planned.length === 0) return void process.stderr.write("procman: nothing is scheduled\n");
      process.stdout.write(`${nextTable(planned, process.stdout.columns)}\n`);
    });
}

export function plannedOf(records: readonly ProcessRecord[]): readonly PlannedRun[] {
  return records
    .flatMap((record) => [record, ...(record.instances ?? [])])
    .flatMap(({ id, scale, nextRun, nextTerminate, nextRestart, timeZone }) => {
      const zone = timeZone === undefined ? {} : { timeZone };
      return [
        ...(nextRun === undefined ? [] : [{ process: id, action: "start", time: nextRun, ...zone } as const]),
        ...(nextTerminate === undefined
          ? []
          : [{ process: id, action: "terminate", time: nextTerminate, ...zone } as const]),
        ...(scale === undefined ? [] : sizesOf(id, scale)),
        ...(nextRestart === undefined ? [] : [{ process: id, action: "restart", time: nextRestart } as const]),
      ];
    })
    .sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function sizesOf(id: string, scale: NonNullable<ProcessRecord["scale"]>): readonly PlannedRun[] {
  const { nextSchedule: time, nextMin: min, nextMax: max, timeZone, pinned } = scale;
  if (time === undefined) return [];
  const bounds = min === undefined || max === undefined ? {} : { min, max };
  const zone = timeZone === undefined ? {} : { timeZone };
  return [{ process: id, action: "scale", time, ...zone, ...bounds, ...(pinned && { pinned }) }];
}

function actionText({ action, min, max, pinned }: PlannedRun): string {
  const bounds = boundsText({ min, max });
  const exception = pinned ? ", but not while it is pinned" : "";
  return bounds === undefined ? action : `${action} to ${bounds}${exception}`;
}

export function nextTable(planned: readonly PlannedRun[], width = Number.POSITIVE_INFINITY, now = Date.now()): string {
  const rows = planned.map((run) => [
    inZones(new Date(run.time), run.timeZone),
    `in ${age(Math.max(0, Date.parse(run.time) - now))}`,
    actionText(run),
    run.process,
  ]);
  return table(["TIME", "", "ACTION", "ID"], rows, { width, spare: [1] });
}

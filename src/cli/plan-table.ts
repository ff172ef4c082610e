/** The effect of a changed configuration, as a table. */
import { printable, printableJson } from "../core/base/printable.ts";
import { isChange, type PlannedChange, type PlanRecord } from "../core/contract/plan.ts";
import { table } from "./output/table.ts";

/** Whether the file changes anything. */
export function hasChanges({ processes, settings }: PlanRecord): boolean {
  return settings.length > 0 || processes.some(isChange);
}

/** Prints warnings and effect. As JSON, the record has the warnings. */
export function printPlan(plan: PlanRecord, json = false): void {
  if (json) return void process.stdout.write(`${printableJson(plan, 2)}\n`);
  for (const warning of plan.warnings) process.stderr.write(`procman: ${printable(warning)}\n`);
  process.stdout.write(`${planTable(plan, process.stdout.columns)}\n`);
}

/** Unchanged processes are only counted. */
export function planTable({ processes, settings, profile }: PlanRecord, width = Number.POSITIVE_INFINITY): string {
  const changed = processes.filter(isChange);
  const rows = [
    ...changed.map((change) => [change.process, actionOf(change), change.reason]),
    ...settings.map(({ field, takesEffect }) => [
      field,
      takesEffect,
      takesEffect === "in-place" ? "has changed" : "has changed; takes effect when procman is terminated and run again",
    ]),
  ];
  const rest = processes.length - changed.length;
  const count = rest === 1 ? "1 process is unchanged" : `${rest} processes are unchanged`;
  const by = profile === undefined ? "" : `\nWith the profile "${profile}".`;
  if (rows.length === 0) return `Nothing has changed (${rest === 1 ? "1 process" : `${rest} processes`}).${by}`;
  return `${table(["ID", "ACTION", "WHY"], rows, { width })}${rest === 0 ? "" : `\n${count}.`}${by}`;
}

function actionOf({ action, rolling }: PlannedChange): string {
  return rolling ? `${action}, rolling` : action;
}

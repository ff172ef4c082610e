/** `procman status`: all processes, as a table or as JSON. */
import type { Command } from "commander";
import type { ProcessRecord } from "../../contract/records.ts";
import { connect } from "../connect.ts";
import { table } from "../table.ts";

export function define(parent: Command): void {
  parent
    .command("status")
    .summary("show all processes with their states")
    .description("Shows all processes with their states. Exit code 69: procman is not running.")
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--json", "print the records of the API")
    .action(async ({ config, json }: { readonly config?: string; readonly json?: boolean }) => {
      const records = await (await connect(config)).processes();
      process.stdout.write(json ? `${JSON.stringify(records, undefined, 2)}\n` : `${statusTable(records)}\n`);
    });
}

export function statusTable(records: readonly ProcessRecord[], now = Date.now()): string {
  const rows = records.flatMap((record) => [record, ...(record.instances ?? [])]).map((record) => rowOf(record, now));
  return table(["ID", "STATUS", "PID", "UP", "RESTARTS", "WHY"], rows, process.stdout.columns);
}

function rowOf({ id, cluster, status, blocked, pid, started, restarts, reason, nextRun }: ProcessRecord, now: number): readonly string[] {
  const next = nextRun === undefined ? "" : `; next run ${new Date(nextRun).toLocaleString("sv")}`;
  return [
    cluster === undefined ? id : `  ${id}`,
    blocked ? `${status}, blocked` : status,
    pid === undefined ? "" : String(pid),
    started === undefined ? "" : age(now - Date.parse(started)),
    String(restarts),
    `${reason}${next}`,
  ];
}

function age(ms: number): string {
  const [seconds, minutes, hours] = [ms / 1_000, ms / 60_000, ms / 3_600_000].map(Math.floor) as [number, number, number];
  if (minutes < 1) return `${seconds} s`;
  if (hours < 1) return `${minutes} min`;
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

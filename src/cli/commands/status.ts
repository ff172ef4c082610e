/** `procman status`: processes with their states, as a table or as JSON. */
import type { Command } from "commander";
import { connect } from "../../remote/connect.ts";
import { withConfig } from "../options.ts";
import { selected } from "../selection.ts";
import { statusTable } from "../status-table.ts";

type Options = { readonly config?: string; readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("status")
    .summary("show processes with their states")
    .description("Shows processes with their states. CPU and memory are those of the process with all its descendants; 100 % is one core.")
    .argument("[id...]", "ids of processes, instances (web-2) or clusters (default: all)");
  withConfig(command)
    .option("--json", "print the records of the API")
    .action(async (ids: readonly string[], { config, json }: Options) => {
      const records = selected(await (await connect(config)).processes(), ids);
      process.stdout.write(json ? `${JSON.stringify(records, undefined, 2)}\n` : `${statusTable(records, process.stdout)}\n`);
    });
}

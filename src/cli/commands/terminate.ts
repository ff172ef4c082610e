/** `procman terminate`: everything ends, in order. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { isAlive, processStat } from "../../os/process-stat.ts";
import { connect } from "../connect.ts";

/** How often it is looked whether procman is gone. Milliseconds. */
const LOOK_MS = 50;

export function define(parent: Command): void {
  parent
    .command("terminate")
    .summary("stop all processes and end procman")
    .description("Stops all processes in reverse order of their start and ends procman; waits until that is done.")
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--no-wait", "return at once")
    .action(async ({ config, wait }: { readonly config?: string; readonly wait: boolean }) => {
      const control = await connect(config);
      const { name, pid, processes } = await control.state();
      const startTime = processStat(pid)?.startTime ?? "";
      await control.terminate();
      while (wait && isAlive(pid, startTime)) await sleep(LOOK_MS);
      process.stdout.write(
        wait
          ? `${name} has ended, with ${processes.total === 1 ? "its process" : `its ${processes.total} processes`}\n`
          : `${name} is ending\n`,
      );
    });
}

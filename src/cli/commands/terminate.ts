/** `procman terminate`: everything ends, in order. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import { type Location, locate } from "../../config/locate.ts";
import { isAlive } from "../../os/process-stat.ts";
import { signalIfThere } from "../../os/signal.ts";
import { connectTo } from "../../remote/connect.ts";
import { keeperOf } from "../../remote/endpoint.ts";

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
      const location = locate(config, process.cwd());
      const { pid, startTime } = await keeperOf(location.stateDir);
      const processes = await askToEnd(location, pid);
      while (wait && isAlive(pid, startTime)) await sleep(LOOK_MS);
      process.stdout.write(wait ? `${location.name} has ended, with ${processes}\n` : `${location.name} is ending\n`);
    });
}

/** By the API, or by a signal to the keeper, which ends everything without the service too. */
async function askToEnd(location: Location, keeper: number): Promise<string> {
  try {
    const control = await connectTo(location);
    const { total } = (await control.state()).processes;
    await control.terminate();
    return total === 1 ? "its process" : `its ${total} processes`;
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.code !== "service-down") throw error;
    process.stderr.write("procman: its API doesn't answer; its keeper ends everything\n");
    signalIfThere(keeper, "SIGTERM");
    return "all its processes";
  }
}

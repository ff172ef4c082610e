/** `procman terminate`: everything ends, in order. */
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import { type Location, locate } from "../../config/locate.ts";
import type { Holder } from "../../os/lock.ts";
import { signalIfThere } from "../../os/signal.ts";
import { connectTo } from "../../remote/connect.ts";
import { ended } from "../../remote/ending.ts";
import { keeperOf } from "../../remote/endpoint.ts";

export function define(parent: Command): void {
  parent
    .command("terminate")
    .summary("stop all processes and end procman")
    .description("Stops all processes in reverse order of their start and ends procman; waits until that is done.")
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--no-wait", "return at once")
    .action(async ({ config, wait }: { readonly config?: string; readonly wait: boolean }) => {
      const location = locate(config, process.cwd());
      let processes = "";
      const ask = async (keeper: Holder): Promise<void> => {
        processes = await askToEnd(location, keeper);
      };
      if (wait) await ended(location.stateDir, ask);
      else await ask(await keeperOf(location.stateDir));
      process.stdout.write(wait ? `${location.name} has ended, with ${processes}\n` : `${location.name} is ending\n`);
    });
}

/** By the API, or by a signal to the keeper, which ends everything without the service too. */
async function askToEnd(location: Location, { pid }: Holder): Promise<string> {
  try {
    const control = await connectTo(location);
    const { total } = (await control.state()).processes;
    await control.terminate();
    return total === 1 ? "its process" : `its ${total} processes`;
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.code !== "service-down") throw error;
    process.stderr.write("procman: its API doesn't answer; its keeper ends everything\n");
    signalIfThere(pid, "SIGTERM");
    return "all its processes";
  }
}

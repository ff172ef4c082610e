/** `procman terminate`: stops all processes and ends procman. */
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import type { Location } from "../../config/find-config.ts";
import { connectTo } from "../../connection/connect.ts";
import { keeperOf } from "../../connection/endpoint-file.ts";
import { waitForEnd } from "../../connection/terminate.ts";
import type { Holder } from "../../os/lock.ts";
import { signalIfThere } from "../../os/process-signal.ts";
import { asTyped } from "../config-option.ts";
import { withTarget } from "../options.ts";
import { waitFor } from "../progress.ts";
import { type TargetOptions, targetLocation } from "../target.ts";

export function define(parent: Command): void {
  const command = parent
    .command("terminate")
    .summary("stop all processes and end procman")
    .description("Stops all processes in reverse order and ends procman; waits until this is done.");
  withTarget(command)
    .option("--no-wait", "return immediately")
    .action(async ({ wait, ...target }: TargetOptions & { readonly wait: boolean }) => {
      const location = targetLocation(target);
      let processes = "";
      const ask = async (keeper: Holder): Promise<void> => {
        processes = await askToEnd(location, keeper);
      };
      const continues = (): string => `the end of ${location.name} continues, "${asTyped("status", target)}" shows what is left`;
      if (wait) await waitFor({ doing: () => `ending ${location.name}`, continues }, waitForEnd(location.stateDir, ask));
      else await ask(await keeperOf(location.stateDir));
      process.stdout.write(wait ? `${location.name} has ended, with ${processes}\n` : `${location.name} is ending\n`);
    });
}

/** Through the API, or by a signal to the keeper, which can stop everything without the service. */
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

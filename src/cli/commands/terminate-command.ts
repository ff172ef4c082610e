/** `procman terminate`: stops all processes and ends procman. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { connectTo } from "../../client/connection/connect.ts";
import { keeperOf } from "../../client/connection/endpoint-file.ts";
import type { RemoteApi } from "../../client/connection/remote-api.ts";
import { waitForEnd } from "../../client/connection/terminate.ts";
import { NoAnswerError } from "../../client/transport.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Location } from "../../core/config/find-config.ts";
import type { Holder } from "../../core/os/lock.ts";
import { signalIfThere } from "../../core/os/process-signal.ts";
import { asTyped } from "../config-option.ts";
import { withTarget } from "../options.ts";
import { printDone } from "../output/done.ts";
import { waitFor } from "../output/progress.ts";
import { type TargetOptions, targetPlace } from "../target.ts";

/** Interval of asking another machine whether its procman still answers. Milliseconds. */
const REMOTE_POLL_MS = 250;

export function define(parent: Command): void {
  const command = parent
    .command("terminate")
    .description("Stops all processes in reverse order and ends procman; waits until this is done.");
  withTarget(command)
    .option("--no-wait", "return immediately")
    .option("--json", "print name, and whether it has ended")
    .action(({ wait, ...target }: TargetOptions & { readonly wait: boolean }) => {
      const place = targetPlace(target);
      return "url" in place ? terminateThere(place, wait, target) : terminate(place, wait, target);
    });
}

async function terminate(location: Location, wait: boolean, target: TargetOptions): Promise<void> {
  let processes = "";
  const ask = async (keeper: Holder): Promise<void> => {
    processes = await askToEnd(location, keeper);
  };
  if (wait) await waitFor(endTexts(location.name, target), waitForEnd(location.stateDir, ask));
  else await ask(await keeperOf(location.stateDir));
  const { name } = location;
  printDone(wait ? `${name} has ended, with ${processes}` : `${name} is ending`, { name, ended: wait });
}

/** Its end is the end of its answers. */
async function terminateThere(remote: RemoteApi, wait: boolean, target: TargetOptions): Promise<void> {
  const client = await connectTo(remote);
  const { name, processes } = await client.state();
  await client.terminate();
  if (wait) await waitFor(endTexts(name, target), lastAnswerOf(client));
  const count = processes.total === 1 ? "its process" : `its ${processes.total} processes`;
  const where = `${name} on ${remote.host}`;
  printDone(wait ? `${where} has ended, with ${count}` : `${where} is ending`, { name, ended: wait });
}

async function lastAnswerOf(client: Client): Promise<void> {
  try {
    for (;;) {
      await client.state();
      await sleep(REMOTE_POLL_MS);
    }
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
  }
}

function endTexts(name: string, target: TargetOptions): Parameters<typeof waitFor>[0] {
  return {
    doing: () => `ending ${name}`,
    continues: () => `the end of ${name} continues, "${asTyped("status", target)}" shows what is left`,
  };
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

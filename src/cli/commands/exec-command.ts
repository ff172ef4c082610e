/** `procman exec`: executes a command with the surroundings of a process. */
import { type Command, Option } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { type TargetOptions, targetPlace } from "../target.ts";
import { unappliedId } from "../unapplied.ts";

type Options = TargetOptions & { readonly json?: boolean; readonly withCaller?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("exec")
    .description(
      "Executes a command with user, folder, environment, secrets, env files and limits of a process, but without its port, on this terminal. The process may be running or not, and neither stops the other. Ends with the exit code of the command, or 128 plus the number of its signal. With --host by https the other machine needs `api.exec`, and the command has no terminal there.",
    )
    .argument("<id>", "id of a process, an instance (web-2), or a cluster, whose first instance is meant")
    .argument("<command...>", 'program and arguments, after "--"; for pipes and variables: -- sh -c "…"');
  withTarget(command)
    .option("--json", "print one record when the command has ended: exit code, signal, output, duration")
    .addOption(new Option("--with-caller", "end the command with the connection of ssh").hideHelp())
    .action(execute);
}

async function execute(id: string, command: readonly string[], options: Options): Promise<void> {
  const { json = false, withCaller = false, ...target } = options;
  const place = targetPlace(target);
  try {
    const client = await connect(target, place);
    if ("url" in place) await (await import("../exec-there.ts")).executeThere(client, { id, command, json });
    else await (await import("../exec-here.ts")).executeHere(client, { id, command, json, withCaller });
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    if (error.code === "path-unknown")
      throw new ProcmanError(
        "exec-failed",
        'Cannot execute a command: the running procman is older; run "procman upgrade" there',
        {
          cause: error,
        },
      );
    throw error.code === "process-unknown" ? (unappliedId(id, target) ?? error) : error;
  }
}

/** `procman dev` in a folder of files. */
import { basename, join } from "node:path";
import { folderOfFiles } from "./import-rig.ts";
import { RunningCommand } from "./running-command.ts";

type Context = { readonly after: (call: () => void | Promise<void>) => void };

/** A project. Each `dev` that was started in it is ended before it is removed. */
export class DevProject {
  readonly folder: string;
  readonly #started: RunningCommand[] = [];

  constructor(context: Context, files: Readonly<Record<string, string>>) {
    this.folder = folderOfFiles(context, files, async () => {
      for (const command of this.#started) {
        if (command.child.exitCode === null && command.child.signalCode === null) await ended(command);
      }
    });
  }

  /** The state folder of a procman whose configuration is made of a foreign file. */
  get state(): string {
    const name = basename(this.folder).toLowerCase();
    return join(this.folder, ".procman", name, ".procman", name);
  }

  start(args: readonly string[] = [], command = "dev"): RunningCommand {
    const running = new RunningCommand(this.folder, [command, ...args]);
    this.#started.push(running);
    return running;
  }
}

/** Its lines by a signal to the command, and its exit code. */
export async function ended(command: RunningCommand, signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
  command.child.kill(signal);
  return command.exitCode();
}

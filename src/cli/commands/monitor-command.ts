/** `procman monitor`: processes with their states and their output, live. */
import type { Command } from "commander";
import { withTarget } from "../options.ts";
import { logProblemOf, type TargetOptions, targetPlace } from "../target.ts";

type Options = TargetOptions & { readonly mouse?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("monitor")
    .description(
      "Shows processes with states, CPU, memory and output, full screen and live, and controls them; ? shows the keys. Without a terminal, or with TERM=dumb, prints one line for each change until Ctrl-C or until procman ends.",
    );
  withTarget(command)
    .option("--mouse", "select and scroll with the mouse; to copy text, most terminals then need Shift")
    .action(monitor);
}

async function monitor({ mouse = false, ...target }: Options): Promise<void> {
  const { stdin, stdout, env } = process;
  if (stdin.isTTY && stdout.isTTY && env.TERM !== "dumb") {
    const { runMonitor } = await import("../../satellites/monitor/monitor.ts");
    return runMonitor({ place: targetPlace(target), logProblem: () => logProblemOf(target), isMouse: mouse });
  }
  const { printChanges } = await import("../../satellites/monitor/change-lines.ts");
  return printChanges(targetPlace(target));
}

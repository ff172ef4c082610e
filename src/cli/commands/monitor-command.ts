/** `procman monitor`: processes with their states and their output, live. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { withTarget } from "../options.ts";
import { NO_LOGS, storesNoLogs, type TargetOptions, targetPlace } from "../target.ts";

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

/** A file that can't be read now says nothing about it. */
function logProblemOf(target: TargetOptions): string | undefined {
  try {
    return storesNoLogs(target) ? NO_LOGS : undefined;
  } catch (error) {
    if (error instanceof ProcmanError) return undefined;
    throw error;
  }
}

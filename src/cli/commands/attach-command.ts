/** `procman attach`: what a process writes, and what is typed for it. */
import type { Command } from "commander";
import { LogReader } from "../../client/connection/log-reader.ts";
import type { LogQuery } from "../../core/contract/records.ts";
import { connect } from "../connected.ts";
import { integerTo, withTarget } from "../options.ts";
import { logProblemOf, type TargetOptions, targetPlace } from "../target.ts";

/** Entries that are shown at first, on a terminal. */
const LINES = 20;
const MAX_LINES = 10_000;

type Options = TargetOptions & { readonly lines?: number; readonly follow?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("attach")
    .description(
      'Shows the last lines of a process, then what it writes, and sends it each line that you type; it needs "stdin": true. A process with "tty": true is shown as on its terminal, which gets the size of this one: all keys go to it, but "~." at the beginning of a line leaves. Otherwise Ctrl-C, Ctrl-D or "~." at the beginning of a line leaves, and the process goes on; "~?" shows more. Without a terminal it sends standard input, has the two outputs of the process as its own, and ends when its input has ended and nothing was written for half a second.',
    )
    .argument("<id>", "id of a process or an instance (web-2)");
  withTarget(command)
    .option(
      "-n, --lines <count>",
      `number of last entries (default: ${LINES}; without a terminal 0)`,
      integerTo(MAX_LINES, 0),
    )
    .option("-f, --follow", "without a terminal: go on after the end of the input, until Ctrl-C or until procman ends")
    .action(attach);
}

async function attach(id: string, { lines, follow = false, ...target }: Options): Promise<void> {
  const { stdin, stdout, env } = process;
  const isTerminal = stdin.isTTY && stdout.isTTY && env.TERM !== "dumb";
  const place = targetPlace(target);
  const control = await connect(target, place);
  // A process that takes no input is refused before anything is shown.
  await control.input(id, { text: "" });
  if (isTerminal && (await control.process(id)).terminal)
    return (await import("../attach-screen.ts")).attachScreen({ id, control });
  const query = queryOf(id, lines ?? (isTerminal ? LINES : 0));
  const reader = new LogReader(place, "cli", true);
  const attachment = { id, control, reader, query, run: await control.process(id), problem: logProblemOf(target) };
  if (isTerminal) await (await import("../attach-terminal.ts")).attachTerminal(attachment);
  else await (await import("../attach-pipes.ts")).attachPipes(attachment, follow);
}

/** Requests are left out: the own ones are among them. */
function queryOf(id: string, lines: number): LogQuery {
  return {
    processes: [id],
    categories: ["stdout", "stderr", "lifecycle", "log"],
    ...(lines === 0 ? { from: Date.now() } : { limit: lines }),
  };
}

/** Lines of the log as they come: to the program's own logger, and to its standard output what that doesn't take over. */
import type { LogEntry } from "../contract/records.ts";
import { LogLines } from "../remote/log-line.ts";
import type { LogReader } from "../remote/log-reader.ts";
import { throwLater } from "./events.ts";

export type LineOptions = {
  /**
   * Gets each line of the log as it comes: output of processes, what happens to them, procman's own messages. `true`: it is taken
   * over, and not printed by `console`.
   */
  readonly onLine?: (entry: LogEntry) => unknown;
  /** Print the lines to standard output, in colours on a terminal. Default: false. */
  readonly console?: boolean;
};

/** Goes on until procman has ended, or the signal came. `from`: milliseconds since 1970. */
export async function passLines(
  reader: LogReader,
  options: LineOptions & { readonly from: number; readonly signal: AbortSignal },
): Promise<void> {
  const { from, onLine, console = false, signal } = options;
  if (onLine === undefined && !console) return;
  const lines = new LogLines(process.stdout.isTTY === true && !process.env.NO_COLOR);
  for await (const item of reader.follow({ from }, signal)) {
    const isTaken = item.type === "entry" && isTakenOver(item.entry, onLine);
    if (console && !isTaken) process.stdout.write(item.type === "entry" ? lines.line(item.entry) : lines.gap(item.bytes));
  }
}

function isTakenOver(entry: LogEntry, onLine: LineOptions["onLine"]): boolean {
  try {
    return onLine?.(entry) === true;
  } catch (error) {
    throwLater(error);
    return false;
  }
}

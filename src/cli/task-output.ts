/** The output of tasks, while a command waits for their end. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiPlace } from "../client/connection/connect.ts";
import { LogReader } from "../client/connection/log-reader.ts";
import { printableLine, printableOutput } from "../core/base/printable.ts";
import type { LogEntry } from "../core/contract/records.ts";
import { wantsColors } from "../core/os/colors.ts";
import { printAbove } from "./output/progress.ts";

/** The last lines of a run arrive in the log store after its end. Without another one in this time they are there. Milliseconds. */
const LINES_MS = 300;

/** Prints what these processes write until what is started has ended: as they write it; with ids in front, if there are several. */
export async function withOutputOf<T>(ids: readonly string[], place: ApiPlace, start: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const query = { processes: ids, categories: ["stdout", "stderr"] as const, from: Date.now() };
  let count = 0;
  const print = async (): Promise<void> => {
    for await (const item of new LogReader(place, "cli").follow(query, stop.signal)) {
      count += 1;
      if (item.type === "entry") printLine(item.entry, ids.length > 1);
    }
  };
  const printed = print();
  try {
    return await start();
  } finally {
    for (let before = -1; before !== count; ) {
      before = count;
      await sleep(LINES_MS);
    }
    stop.abort();
    await printed;
  }
}

function printLine({ process: id = "", category, text }: LogEntry, isOneOfSeveral: boolean): void {
  const stream = category === "stderr" ? process.stderr : process.stdout;
  const line = printableOutput(text, wantsColors(stream));
  printAbove(`${isOneOfSeveral ? `${printableLine(id)} | ` : ""}${line}\n`, stream);
}

/** What both ways of `procman attach` have in common. */
import type { LogReader } from "../client/connection/log-reader.ts";
import type { InputControl, InputQueue } from "../client/input-queue.ts";
import type { LogItem, LogQuery, ProcessRecord } from "../core/contract/records.ts";
import { startedPid } from "../core/contract/words.ts";

export type Attachment = {
  readonly id: string;
  readonly control: InputControl;
  readonly reader: Pick<LogReader, "follow">;
  /** Where its output begins. */
  readonly query: LogQuery;
  /** The run that is typed into at first. */
  readonly run: Pick<ProcessRecord, "pid" | "started">;
  /** Why no output is seen. */
  readonly problem: string | undefined;
};

export const ENDED = "procman is not running; end of log";

/** A new run gets nothing that was meant for the one before. Resolves with what to say about it. */
export async function droppedBy(
  item: LogItem,
  { pid, started = "" }: Attachment["run"],
  queue: InputQueue,
): Promise<string | undefined> {
  if (item.type !== "entry" || item.entry.category !== "lifecycle") return undefined;
  const { entry } = item;
  const begun = startedPid(entry);
  // The stored lines have earlier starts, too.
  if (begun === undefined || begun === pid || Date.parse(entry.time) < Date.parse(started)) return undefined;
  const what = await dropped(queue);
  return what && `${what}, as they were meant for the run before`;
}

/** Drops what waits. @example await dropped(queue) // "12 bytes were not sent"; undefined: all was */
export async function dropped(queue: InputQueue): Promise<string | undefined> {
  const bytes = await queue.drop();
  return bytes === 0 ? undefined : `${bytes} ${bytes === 1 ? "byte was" : "bytes were"} not sent`;
}

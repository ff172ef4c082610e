/** What both ways of `procman attach` have in common. */
import type { LogReader } from "../client/connection/log-reader.ts";
import type { InputControl, InputQueue } from "../client/input-queue.ts";
import type { LogItem, LogQuery } from "../core/contract/records.ts";
import { startedPid } from "../core/contract/words.ts";

export type Attachment = {
  readonly id: string;
  readonly control: InputControl;
  readonly reader: Pick<LogReader, "follow">;
  /** Where its output begins. */
  readonly query: LogQuery;
  /** Why no output is seen. */
  readonly problem: string | undefined;
};

export const ENDED = "procman is not running; end of log";

/** A new run gets nothing that was meant for the one before. Returns what to say about it. */
export function droppedBy(item: LogItem, queue: InputQueue): string | undefined {
  const isStart = item.type === "entry" && item.entry.category === "lifecycle" && startedPid(item.entry) !== undefined;
  return isStart && queue.waiting > 0 ? `${dropped(queue)}, as they were meant for the run before` : undefined;
}

/** Drops what waits; there is some. @example dropped(queue) // "12 bytes were not sent" */
export function dropped(queue: InputQueue): string {
  const { waiting } = queue;
  queue.drop();
  return `${waiting === 1 ? "1 byte was" : `${waiting} bytes were`} not sent`;
}

/** Log lines as events. */
import type { EventRecord } from "./event-record.ts";
import type { LogEntry, LogItem } from "./records.ts";

export type LogEvent = EventRecord & { readonly type: "log" };

/** A gap in the log becomes a line of procman's own. */
export function logEvent(item: LogItem, id: string): LogEvent {
  const entry = item.type === "entry" ? item.entry : gapEntry(item.bytes);
  return { id, time: entry.time, type: "log", entry };
}

function gapEntry(bytes: number): LogEntry {
  const text = `${bytes} bytes are missing here: they were written faster than they were read`;
  return { time: new Date().toISOString(), severity: "warn", category: "service", text };
}

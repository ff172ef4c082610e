/** The event stream of one reader: all events, or selected types, with log lines among them if requested. */
import { mergeStreams } from "../../base/async.ts";
import type { EventRecord, EventType } from "../../contract/event-record.ts";
import { logEvent } from "../../contract/log-event.ts";
import type { LogItem, LogQuery } from "../../contract/records.ts";

export type EventSources = {
  readonly events: { readonly follow: (after: string | undefined, signal: AbortSignal) => AsyncIterable<EventRecord> };
  readonly logAccess: { readonly follow: (query: LogQuery, signal: AbortSignal) => AsyncIterable<LogItem> };
};

export type StreamRequest = { readonly after: string | undefined; readonly types: readonly EventType[] | undefined };

/** Position in events and log: ids of such a stream are `EVENT_CURSOR`, or the event's id while no line has come. */
type StreamPosition = { event: string; cursor?: string };

export function eventStream(
  sources: EventSources,
  { after, types }: StreamRequest,
  signal: AbortSignal,
): AsyncIterable<EventRecord> {
  if (types === undefined || types.length === 0) return sources.events.follow(after, signal);
  const wanted: ReadonlySet<string> = new Set(types);
  if (!wanted.has("log")) return filterTypes(sources.events.follow(after, signal), wanted);
  const position = positionOf(after);
  return withLogLines(sources, { wanted, position, after: after === undefined ? undefined : position.event }, signal);
}

async function* filterTypes(
  events: AsyncIterable<EventRecord>,
  wanted: ReadonlySet<string>,
): AsyncGenerator<EventRecord> {
  for await (const event of events) if (wanted.has(event.type)) yield event;
}

type StreamFilter = {
  readonly wanted: ReadonlySet<string>;
  readonly position: StreamPosition;
  readonly after: string | undefined;
};

async function* withLogLines(
  sources: EventSources,
  { wanted, position, after }: StreamFilter,
  signal: AbortSignal,
): AsyncGenerator<EventRecord> {
  const { cursor, event } = position;
  // Ids of events are times in microseconds.
  const query = cursor === undefined ? { from: Math.floor(Number(event) / 1_000) } : { cursor };
  const both = mergeStreams<EventRecord | LogItem>(
    [
      (stop) => filterTypes(sources.events.follow(after, stop), wanted),
      (stop) => sources.logAccess.follow(query, stop),
    ],
    signal,
  );
  for await (const item of both) {
    if ("cursor" in item) position.cursor = item.cursor;
    else position.event = item.id;
    const id = position.cursor === undefined ? position.event : `${position.event}_${position.cursor}`;
    yield "cursor" in item ? logEvent(item, id) : { ...item, id };
  }
}

/** Without an id, or with an invalid one, the stream begins now. */
function positionOf(after = ""): StreamPosition {
  if (!/^\d{1,16}(_|$)/.test(after)) return { event: String(Date.now() * 1_000) };
  const cut = after.indexOf("_");
  return cut < 0 ? { event: after } : { event: after.slice(0, cut), cursor: after.slice(cut + 1) };
}

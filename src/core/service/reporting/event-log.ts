/** Event log: publishes events to listeners and keeps the latest ones for readers that reconnect. */
import { ProcmanError } from "../../base/errors.ts";
import type { EventRecord } from "../../contract/event-record.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { Listeners } from "../process-bus.ts";

/** Bounds of the kept events; their bytes are those of their JSON. */
const MAX_KEPT_EVENTS = 1_000;
const MAX_KEPT_BYTES = 4 * 1_024 * 1_024;
/** Events that may wait for one reader. */
const MAX_QUEUED = 1_000;

type Unpublished<Of = EventRecord> = Of extends EventRecord ? Omit<Of, "id" | "time"> : never;

export type UnpublishedEvent = Unpublished;

type KeptEvent = { readonly event: EventRecord; readonly bytes: number };

type EventListener = (event: EventRecord) => void;

export class EventLog {
  readonly #listeners: Listeners<EventRecord>;
  readonly #kept: KeptEvent[] = [];
  #keptBytes = 0;
  /** Ids are times in microseconds, so they also grow from one service to the next. */
  #lastId = Date.now() * 1_000;
  /** All events after this id are kept. */
  #lastDroppedId = this.#lastId;

  constructor(report: (problem: string) => void) {
    this.#listeners = new Listeners("events", report);
  }

  publish(unpublished: UnpublishedEvent): void {
    const now = Date.now();
    this.#lastId = Math.max(this.#lastId + 1, now * 1_000);
    const event = { id: String(this.#lastId), time: new Date(now).toISOString(), ...unpublished } as EventRecord;
    // A record of the process has its latest report.
    if (event.type !== "process.telemetry") this.#keep(event);
    this.#listeners.publish(event);
  }

  /** An error that a listener throws is reported. Returns the function that removes the listener. */
  listen(listener: EventListener): () => void {
    return this.#listeners.listen(listener);
  }

  /**
   * Events after the one with this id; without an id, events from now on. If some are no longer kept, a record of the
   * whole state comes first. Ends on abort; a reader that is too slow gets an error.
   */
  follow(after: string | undefined, signal: AbortSignal, state: () => StateRecord): AsyncIterable<EventRecord> {
    const reader = new EventReader(after === undefined ? [] : this.#eventsAfter(after, state));
    const stop = this.listen((event) => reader.offer(event));
    reader.onEnd(stop);
    if (signal.aborted) reader.end();
    else signal.addEventListener("abort", () => reader.end(), { once: true });
    return reader.events();
  }

  #eventsAfter(after: string, state: () => StateRecord): readonly EventRecord[] {
    const lastSeenId = /^\d{1,16}$/.test(after) ? Number(after) : Number.NaN;
    // Up to the present time: a reader's id may be the time at which it connected.
    if (lastSeenId >= this.#lastDroppedId && lastSeenId <= Math.max(this.#lastId, Date.now() * 1_000))
      return this.#keptEvents.filter(({ id }) => Number(id) > lastSeenId);
    const time = new Date().toISOString();
    return [{ id: String(this.#lastDroppedId), time, type: "service.state", state: state() }, ...this.#keptEvents];
  }

  get #keptEvents(): EventRecord[] {
    return this.#kept.map(({ event }) => event);
  }

  #keep(event: EventRecord): void {
    const bytes = Buffer.byteLength(JSON.stringify(event));
    this.#kept.push({ event, bytes });
    this.#keptBytes += bytes;
    while (this.#kept.length > MAX_KEPT_EVENTS || this.#keptBytes > MAX_KEPT_BYTES) {
      const dropped = this.#kept.shift() as KeptEvent;
      this.#keptBytes -= dropped.bytes;
      this.#lastDroppedId = Number(dropped.event.id);
    }
  }
}

/** The queue of one reader. */
class EventReader {
  readonly #queue: EventRecord[];
  readonly #capacity: number;
  #wake: () => void = () => undefined;
  #stop: () => void = () => undefined;
  #ended = false;
  #isTooSlow = false;

  constructor(missed: readonly EventRecord[]) {
    this.#queue = [...missed];
    this.#capacity = missed.length + MAX_QUEUED;
  }

  onEnd(stop: () => void): void {
    this.#stop = stop;
  }

  offer(event: EventRecord): void {
    this.#isTooSlow = this.#queue.length >= this.#capacity;
    if (this.#isTooSlow) return this.end();
    this.#queue.push(event);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#stop();
    this.#wake();
  }

  async *events(): AsyncGenerator<EventRecord, void, void> {
    try {
      for (;;) {
        const next = this.#queue.shift();
        if (next !== undefined && (!this.#ended || this.#isTooSlow)) yield next;
        else if (this.#ended) break;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.end();
    }
    if (this.#isTooSlow)
      throw new ProcmanError(
        "events-lost",
        "Cannot send all events: they were read too slowly; resume after the last one received",
      );
  }
}

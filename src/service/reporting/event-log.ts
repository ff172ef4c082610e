/** What happens, told to whoever listens; the latest is kept for those who were away for a moment. */
import { ProcmanError } from "../../base/errors.ts";
import type { EventRecord } from "../../contract/event-record.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { Listeners } from "./process-bus.ts";

/** So many events stay known, and so many bytes of them, about. */
const MAX_KEPT_EVENTS = 1_000;
const MAX_KEPT_BYTES = 4 * 1_024 * 1_024;
/** So many may wait for one reader. */
const MAX_QUEUED = 1_000;
const EVENT_BYTES = 1_000;

type Unpublished<Of = EventRecord> = Of extends EventRecord ? Omit<Of, "id" | "time"> : never;

export type UnpublishedEvent = Unpublished;

type EventListener = (event: EventRecord) => void;

export class EventLog {
  readonly #listeners: Listeners<EventRecord>;
  readonly #kept: EventRecord[] = [];
  #keptBytes = 0;
  /** The time in microseconds, so that it grows from one service to the next. */
  #lastId = Date.now() * 1_000;
  /** Whoever has seen this one has missed nothing that isn't kept. */
  #lastDroppedId = this.#lastId;

  constructor(report: (problem: string) => void) {
    this.#listeners = new Listeners("events", report);
  }

  publish(fresh: UnpublishedEvent): void {
    const now = Date.now();
    this.#lastId = Math.max(this.#lastId + 1, now * 1_000);
    const event = { id: String(this.#lastId), time: new Date(now).toISOString(), ...fresh } as EventRecord;
    this.#keep(event);
    this.#listeners.publish(event);
  }

  /** What one throws is reported, and is nobody else's trouble. Gives the way to end it. */
  listen(listener: EventListener): () => void {
    return this.#listeners.listen(listener);
  }

  /**
   * What comes after the event of this id, from now on without it. If some of that is not known any more, the state of
   * everything comes first. Ends when the signal says so; who reads too slowly is ended with an error.
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
    const seen = /^\d{1,16}$/.test(after) ? Number(after) : Number.NaN;
    // A time, where nothing had happened yet when its reader came.
    if (seen >= this.#lastDroppedId && seen <= Math.max(this.#lastId, Date.now() * 1_000))
      return this.#kept.filter(({ id }) => Number(id) > seen);
    const time = new Date().toISOString();
    return [{ id: String(this.#lastDroppedId), time, type: "service.state", state: state() }, ...this.#kept];
  }

  #keep(event: EventRecord): void {
    this.#kept.push(event);
    this.#keptBytes += sizeOf(event);
    while (this.#kept.length > MAX_KEPT_EVENTS || this.#keptBytes > MAX_KEPT_BYTES) {
      const dropped = this.#kept.shift() as EventRecord;
      this.#keptBytes -= sizeOf(dropped);
      this.#lastDroppedId = Number(dropped.id);
    }
  }
}

/** What waits for one reader. */
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
      throw new ProcmanError("events-lost", "Cannot send all events: they were read too slowly; resume after the last one received");
  }
}

function sizeOf(event: EventRecord): number {
  if (event.type !== "process.incident") return EVENT_BYTES;
  const { lines, metrics } = event.incident;
  return lines.reduce((sum, { text }) => sum + 200 + text.length, EVENT_BYTES + metrics.length * 100);
}

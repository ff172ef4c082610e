/** The queue of events for a plugin. When it is full the oldest are dropped, and a `gap` event says how many. */
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginEvent } from "../ipc/plugin-protocol.ts";

/** Most events in the queue. */
export const CAPACITY = 1_000;
/** Most events sent to the thread at a time. */
const BATCH = 100;

export class EventQueue {
  #events: PluginEvent[] = [];
  #lost = 0;
  #lostTotal = 0;
  #types: ReadonlySet<string> = new Set();
  /** Until a plugin is up for the first time, its types aren't known, and all are queued. */
  #isOpen = false;

  get isEmpty(): boolean {
    return this.#events.length === 0 && this.#lost === 0;
  }

  get lostTotal(): number {
    return this.#lostTotal;
  }

  /** Sets the types of events that are queued; queued events of other types are removed. */
  subscribe(types: readonly string[]): void {
    this.#types = new Set(types);
    if (this.#isOpen) this.#removeOthers();
  }

  /** The plugin is up: its types are known. */
  open(): void {
    this.#isOpen = true;
    this.#removeOthers();
  }

  offer(event: EventRecord): void {
    if (event.type === "log" || (this.#isOpen && !this.#types.has(event.type))) return;
    this.#events.push(event);
    if (this.#events.length <= CAPACITY) return;
    this.#events.shift();
    this.lose(1);
  }

  /** Counts events as lost: dropped here, or sent to a thread that ended before it had handled them. */
  lose(count: number): void {
    this.#lost += count;
    this.#lostTotal += count;
  }

  /** The next events, in order; a `gap` comes in place of lost ones. */
  take(): readonly PluginEvent[] {
    const gap: readonly PluginEvent[] =
      this.#lost > 0 && this.#types.has("gap") ? [{ type: "gap", lost: this.#lost }] : [];
    this.#lost = 0;
    return [...gap, ...this.#events.splice(0, BATCH)];
  }

  #removeOthers(): void {
    this.#events = this.#events.filter(({ type }) => this.#types.has(type));
  }
}

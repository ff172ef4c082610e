/** Events that wait for a plugin: bounded, the oldest make room, and how many that were is told. */

import type { EventRecord } from "../contract/event-record.ts";
import type { PluginEvent } from "../ipc/plugin-protocol.ts";

/** So many events wait for a plugin. */
export const MOST_WAITING = 1_000;
/** So many go to its thread at once. */
const MOST_AT_ONCE = 100;

export class EventQueue {
  #waiting: PluginEvent[] = [];
  #lost = 0;
  #lostInAll = 0;
  #types: ReadonlySet<string> = new Set();

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#lost === 0;
  }

  get lostInAll(): number {
    return this.#lostInAll;
  }

  /** Types of events that are wanted. Others that wait are forgotten. */
  want(types: readonly string[]): void {
    this.#types = new Set(types);
    this.#waiting = this.#waiting.filter(({ type }) => this.#types.has(type));
  }

  offer(event: EventRecord): void {
    if (event.type === "log" || !this.#types.has(event.type)) return;
    this.#waiting.push(event);
    if (this.#waiting.length <= MOST_WAITING) return;
    this.#waiting.shift();
    this.lose(1);
  }

  /** So many went to a thread that has ended before it dealt with them. */
  lose(count: number): void {
    this.#lost += count;
    this.#lostInAll += count;
  }

  /** The next, in order: a gap is where the lost ones were. */
  take(): readonly PluginEvent[] {
    const gap: readonly PluginEvent[] = this.#lost > 0 && this.#types.has("gap") ? [{ type: "gap", lost: this.#lost }] : [];
    this.#lost = 0;
    return [...gap, ...this.#waiting.splice(0, MOST_AT_ONCE)];
  }
}

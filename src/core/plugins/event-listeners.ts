/** The listeners of a plugin. Events are delivered one at a time; errors of listeners are logged. */
import type { PluginEvent } from "../ipc/plugin-protocol.ts";
import type { PluginEvents } from "./plugin.ts";

type PluginListener = (event: never) => void | Promise<void>;

export class EventListeners implements PluginEvents {
  readonly #listeners = new Map<PluginEvent["type"], Set<PluginListener>>();
  readonly #onTypes: (types: readonly PluginEvent["type"][]) => void;
  readonly #onError: (text: string) => void;

  constructor(onTypes: (types: readonly PluginEvent["type"][]) => void, onError: (text: string) => void) {
    this.#onTypes = onTypes;
    this.#onError = onError;
  }

  on(type: PluginEvent["type"], listener: PluginListener): () => void {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener));
    if (known.size === 1) this.#reportTypes();
    return () => {
      known.delete(listener);
      if (known.size > 0 || !this.#listeners.delete(type)) return;
      this.#reportTypes();
    };
  }

  /** Resolves when all listeners have finished. */
  async deliver(events: readonly PluginEvent[]): Promise<void> {
    for (const event of events) {
      for (const listener of this.#listeners.get(event.type) ?? []) {
        try {
          await listener(event as never);
        } catch (error) {
          this.#onError(
            `its listener for ${event.type} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          );
        }
      }
    }
  }

  #reportTypes(): void {
    this.#onTypes([...this.#listeners.keys()]);
  }
}

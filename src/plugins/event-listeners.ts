/** The listeners of a plugin: events are delivered one after the other, and an error that a listener throws is logged. */
import type { PluginEvent } from "../ipc/plugin-protocol.ts";
import type { PluginEvents } from "./plugin.ts";

type PluginListener = (event: never) => void | Promise<void>;

export class EventListeners implements PluginEvents {
  readonly #listeners = new Map<PluginEvent["type"], Set<PluginListener>>();
  readonly #changed: (types: readonly PluginEvent["type"][]) => void;
  readonly #thrown: (text: string) => void;

  constructor(changed: (types: readonly PluginEvent["type"][]) => void, thrown: (text: string) => void) {
    this.#changed = changed;
    this.#thrown = thrown;
  }

  on(type: PluginEvent["type"], listener: PluginListener): () => void {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener));
    if (known.size === 1) this.#tell();
    return () => {
      known.delete(listener);
      if (known.size > 0 || !this.#listeners.delete(type)) return;
      this.#tell();
    };
  }

  /** Resolves when all is dealt with. */
  async deliver(events: readonly PluginEvent[]): Promise<void> {
    for (const event of events) {
      for (const listener of this.#listeners.get(event.type) ?? []) {
        try {
          await listener(event as never);
        } catch (error) {
          this.#thrown(
            `its listener of ${event.type} has failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          );
        }
      }
    }
  }

  #tell(): void {
    this.#changed([...this.#listeners.keys()]);
  }
}

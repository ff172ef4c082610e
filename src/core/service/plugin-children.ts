/** Marks the processes that plugins start, and ends those that outlive the thread of their plugin. */
import { RunMarkers } from "../base/run-marker.ts";
import { markedProcesses } from "../os/process-tree.ts";
import type { ChildrenOfPlugins, PluginThreadKey } from "../plugins/plugin-supervisor.ts";
import { Sweeper } from "./spawn/sweeper.ts";

/** Time between SIGTERM and SIGKILL. Milliseconds. */
const GRACE_MS = 1_000;

export class PluginChildren implements ChildrenOfPlugins {
  readonly #markers: RunMarkers;
  readonly #sweeper: Sweeper;

  /** `markerKey`: of the markers of runs. */
  constructor(stateDir: string, markerKey: string) {
    this.#markers = new RunMarkers(stateDir, markerKey, "PROCMAN_PLUGIN_ID");
    this.#sweeper = new Sweeper(this.#markers);
  }

  variables({ plugin, thread }: PluginThreadKey): Readonly<Record<string, string>> {
    return { PROCMAN_PLUGIN_ID: this.#markers.of(slotOf(plugin), thread) };
  }

  end({ plugin, thread }: PluginThreadKey): Promise<void> {
    return this.#end(slotOf(plugin), thread);
  }

  /** Ends what the plugins of earlier services have left. Called before the first thread is started. */
  async endAll(): Promise<void> {
    const left = new Map(
      markedProcesses(this.#markers, () => undefined).map(({ slot, run }) => [`${slot}.${run}`, { slot, run }]),
    );
    await Promise.all([...left.values()].map(({ slot, run }) => this.#end(slot, run)));
  }

  #end(slot: string, run: number): Promise<void> {
    // A plugin has no process group.
    const target = { slot, run, pid: 0 };
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => this.#sweeper.sweep(target, "SIGKILL", done), GRACE_MS);
      this.#sweeper.sweep(target, "SIGTERM", done);
    });
  }
}

/** No process has such an id, so a run's marker is not valid as that of a plugin. */
function slotOf(plugin: string): string {
  return `plugin:${plugin}`;
}
